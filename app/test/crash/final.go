package crash

import (
	"stampede/app/shop"
)

// Final is the state of the stores at rest, read from the tables and keys that operators use.
type Final struct {
	Rows        []Row   `json:"rows"`
	Sales       []Sale  `json:"sales"`
	Groups      []Group `json:"groups"`
	DeadLetters int64   `json:"dead_letters"`
}

// Row is a row of the orders table.
type Row struct {
	ID     shop.ID         `json:"id"`
	Sale   shop.ID         `json:"sale"`
	User   shop.ID         `json:"user"`
	Key    string          `json:"key"`
	Qty    int64           `json:"qty"`
	State  shop.OrderState `json:"state"`
	Reason string          `json:"reason,omitempty"`
	Ticket int64           `json:"ticket"`
	Rev    int             `json:"rev"`
	PayBy  shop.Millis     `json:"pay_by"`
	Ended  shop.Millis     `json:"ended"` // time of expiry or cancellation; 0: neither
}

// keepsUnits reports whether the order keeps its units.
func (r *Row) keepsUnits() bool {
	o := shop.Order{State: r.State, CancelledAt: r.Ended}
	return o.HoldsUnits()
}

// hasHold reports whether Redis must have a hold for the order. Units of refunded orders are withdrawn.
func (r *Row) hasHold() bool { return r.keepsUnits() && r.State != shop.Refunded }

// Sale is the state of one sale in both stores.
type Sale struct {
	ID       shop.ID `json:"id"`
	Limit    int64   `json:"limit"`
	Database Side    `json:"database"`
	Redis    Side    `json:"redis"`
	Burnt    int64   `json:"burnt"`
	Tickets  int64   `json:"tickets"`
	Done     int64   `json:"done"`
	Holds    []Hold  `json:"holds"`
	Units    []Units `json:"units"`
}

// Side contains the unit counters of one store.
type Side struct {
	Initial   int64 `json:"initial"`
	Added     int64 `json:"added"`
	Stock     int64 `json:"stock"` // free units; in the database computed from the sale's row
	Held      int64 `json:"held"`
	Sold      int64 `json:"sold"`
	Withdrawn int64 `json:"withdrawn"`
}

// Hold is a live hold in Redis.
type Hold struct {
	Order shop.ID `json:"order"`
	Qty   int64   `json:"qty"`
}

// Units is the number of units that Redis counts against a buyer's limit.
type Units struct {
	User shop.ID `json:"user"`
	Qty  int64   `json:"qty"`
}

// Group is the state of a partition's consumer group from XINFO GROUPS; a lag of −1 means that Redis cannot compute it.
type Group struct {
	Partition int   `json:"partition"`
	Lag       int64 `json:"lag"`
	Pending   int64 `json:"pending"`
}
