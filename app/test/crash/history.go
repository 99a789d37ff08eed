package crash

import (
	"stampede/app/shop"
)

// History contains the ops and received states of all clients of one run, in order of arrival.
type History struct {
	Seed     int64      `json:"seed"`
	Ops      []Op       `json:"ops"`
	Received []Received `json:"heard"`
	Resets   []Reset    `json:"resets"`
	// Replaced is set if the database has lost commits. Every device then gets a reset.
	Replaced bool `json:"replaced,omitempty"`
}

// Outcome is the result of an op from the buyer's view.
type Outcome string

// The outcomes. Unknown means a lost socket or a busy reply: the server may have performed the op.
const (
	OK      Outcome = "ok"
	Refused Outcome = "refused"
	Unknown Outcome = "unknown"
)

// Kind is the kind of an op.
type Kind string

// The kinds of ops that change an order.
const (
	Buy    Kind = "buy"
	Cancel Kind = "cancel"
	Pay    Kind = "pay" // the gateway has the money
)

// Op is one op and its reply. A repeated buy is another op with the same key.
type Op struct {
	Kind        Kind            `json:"kind"`
	User        shop.ID         `json:"user"`
	Sale        shop.ID         `json:"sale"`
	Key         string          `json:"key,omitempty"`
	Qty         int             `json:"qty,omitempty"`
	Order       shop.ID         `json:"order,omitempty"` // from the reply to a buy; argument of a cancel
	Ticket      int64           `json:"ticket,omitempty"`
	Outcome     Outcome         `json:"outcome"`
	State       shop.OrderState `json:"state,omitempty"` // from the reply
	Code        shop.Code       `json:"code,omitempty"`  // error code of a refused op
	RequestedAt shop.Millis     `json:"requested"`       // by the clock of the run
	Known       shop.Millis     `json:"known"`
}

// Via is the source of a received state.
type Via string

// The sources. ByOrders is a full source, because a client reads the orders after a reset.
const (
	ByEvent  Via = "event"
	ByMissed Via = "missed"
	ByOrders Via = "orders"
)

// Received is a state of an order that a device received.
type Received struct {
	User   shop.ID         `json:"user"`
	Device int             `json:"device"` // number among the user's devices; a device keeps its cursor across sockets
	Order  shop.ID         `json:"order"`
	State  shop.OrderState `json:"state"`
	Rev    int             `json:"rev"`
	Via    Via             `json:"via"`
	Cursor string          `json:"cursor,omitempty"` // empty for ByOrders
}

// Reset is a hello reply with reset: the cursor was not usable.
type Reset struct {
	User   shop.ID `json:"user"`
	Device int     `json:"device"`
}
