package crash

import (
	"stampede/app/shop"
)

// History is what the people of one run asked for and heard, in the order in which they learned it.
type History struct {
	Seed   int64   `json:"seed"`
	Ops    []Op    `json:"ops"`
	Heard  []Heard `json:"heard"`
	Resets []Reset `json:"resets"`
	// Replaced: the database lost commits, so every device is told of a reset.
	Replaced bool `json:"replaced,omitempty"`
}

// Outcome is all that a buyer knows of an op.
type Outcome string

// The outcomes. Unknown is a lost socket or busy: it may or may not have happened.
const (
	OK      Outcome = "ok"
	Refused Outcome = "refused"
	Unknown Outcome = "unknown"
)

// Kind is what was asked for.
type Kind string

// The kinds of op that change an order.
const (
	Buy    Kind = "buy"
	Cancel Kind = "cancel"
	Pay    Kind = "pay" // the gateway has taken the money
)

// Op is one op and its answer. A buy that is tried again is another op with the same key.
type Op struct {
	Kind    Kind            `json:"kind"`
	User    shop.ID         `json:"user"`
	Sale    shop.ID         `json:"sale"`
	Key     string          `json:"key,omitempty"`
	Qty     int             `json:"qty,omitempty"`
	Order   shop.ID         `json:"order,omitempty"` // answered to a buy, asked for by a cancel
	Ticket  int64           `json:"ticket,omitempty"`
	Outcome Outcome         `json:"outcome"`
	State   shop.OrderState `json:"state,omitempty"` // answered
	Code    shop.Code       `json:"code,omitempty"`  // of what was refused
	Asked   shop.Millis     `json:"asked"`           // by the clock of the run
	Known   shop.Millis     `json:"known"`
}

// Via is the way on which a buyer heard of a state.
type Via string

// The ways. By orders counts like the others: it is what a buyer reads after a reset.
const (
	ByEvent  Via = "event"
	ByMissed Via = "missed"
	ByOrders Via = "orders"
)

// Heard is a state of an order that a device of its buyer learned.
type Heard struct {
	User   shop.ID         `json:"user"`
	Device int             `json:"device"` // number among the user's devices; it keeps its cursor over all its sockets
	Order  shop.ID         `json:"order"`
	State  shop.OrderState `json:"state"`
	Rev    int             `json:"rev"`
	Via    Via             `json:"via"`
	Cursor string          `json:"cursor,omitempty"` // none by orders
}

// Reset is a hello that told a device that its cursor is of no use.
type Reset struct {
	User   shop.ID `json:"user"`
	Device int     `json:"device"`
}
