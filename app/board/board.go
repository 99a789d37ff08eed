package board

import (
	"time"

	"stampede/app/shop"
)

const (
	// Every is how often nodes say their figures and boards are shown.
	Every = time.Second
	// PointEvery is the distance between two points of the history, and what each of them is counted over.
	PointEvery = 5 * time.Second
	// Points is how many points are kept: those of 15 minutes.
	Points = 180
	// figuresLife is how old the figures of a node may be: one that has said nothing for so long is gone.
	figuresLife = 5 * time.Second
	// forgetNodes is after how long what a node said is thrown away.
	forgetNodes = time.Minute
	// boardSales is how many sales a board shows at most.
	boardSales = 60
)

// Board is the state of the whole shop at an instant. Everything "a second" is the sum over all nodes.
type Board struct {
	Now        shop.Millis           `json:"now"`
	BuysS      float64               `json:"buys_s"`             // presses of Buy, those refused included
	ReservedS  float64               `json:"reserved_s"`         // accepted by the Lua step
	ConfirmedS float64               `json:"confirmed_s"`        // entries whose row is committed, and whose buyers were told
	HiddenS    float64               `json:"hidden_s,omitempty"` // entries of hidden sales, which are not in confirmed_s
	RefusedS   map[shop.Code]float64 `json:"refused_s"`
	PressMS    PressTimes            `json:"press_ms"` // over the last 5 s
	Sales      []Sale                `json:"sales"`    // those that are open, then those that are next
	Partitions []PartitionFigures    `json:"partitions"`
	Nodes      []NodeFigures         `json:"nodes"`
	Payments   PaymentFigures        `json:"payments"`
	ErrorsS    float64               `json:"errors_s"` // errors in the logs
	Alarms     []Alarm               `json:"alarms"`
}

// History is a board with what came before it.
type History struct {
	Board
	History []Point `json:"history"`
}

// Point is a point of the history: what was over PointEvery before it.
type Point struct {
	At         shop.Millis           `json:"at"`
	BuysS      float64               `json:"buys_s"`
	ReservedS  float64               `json:"reserved_s"`
	ConfirmedS float64               `json:"confirmed_s"`
	HiddenS    float64               `json:"hidden_s,omitempty"`
	RefusedS   map[shop.Code]float64 `json:"refused_s"`
	PressMS    PressTimes            `json:"press_ms"`
	ErrorsS    float64               `json:"errors_s"`
	Sockets    int                   `json:"sockets"`
	Open       int                   `json:"open"`    // sales that are open and not paused
	Lags       []int64               `json:"lags"`    // per partition: not yet delivered
	Pending    int64                 `json:"pending"` // of all partitions: delivered and not settled
	Dead       int64                 `json:"dead"`    // dead letters of all partitions
}

// Sale is a sale on the board.
type Sale struct {
	ID        shop.ID     `json:"id"`
	Name      string      `json:"name"` // of the product
	Phase     shop.Phase  `json:"phase"`
	Paused    bool        `json:"paused"`
	Stuck     string      `json:"stuck,omitempty"` // why an operator has to settle its orders after a recovery
	Stock     int64       `json:"stock"`
	Held      int64       `json:"held"`
	Sold      int64       `json:"sold"`
	Initial   int64       `json:"initial"`
	Added     int64       `json:"added"`
	Withdrawn int64       `json:"withdrawn"`
	Rate      float64     `json:"rate"` // orders settled per second
	Watching  int64       `json:"watching"`
	OpensAt   shop.Millis `json:"opens_at"`
	ClosesAt  shop.Millis `json:"closes_at"`
}

// PartitionFigures are the numbers of one stream as XINFO and XPENDING tell them.
type PartitionFigures struct {
	P         int   `json:"p"`
	Lag       int64 `json:"lag"`       // not yet delivered
	Pending   int64 `json:"pending"`   // delivered, not settled; lag + pending wait
	OldestMS  int64 `json:"oldest_ms"` // age of the oldest entry that waits; 0: none does
	Dead      int64 `json:"dead"`      // dead letters
	Deadlines int64 `json:"deadlines"` // unpaid orders in the delay queue

	Away    bool `json:"away,omitempty"`    // it does not answer; the other numbers are nothing
	Rejects bool `json:"rejects,omitempty"` // it answers, and rejects writes

	ClosedAt shop.Millis `json:"closed_at,omitempty"` // it is closed for a recovery since then
}

// NodeFigures are what a node says of itself.
type NodeFigures struct {
	ID         int             `json:"id"` // its number, which is in the ids that it mints
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Roles      []string        `json:"roles"`
	Sockets    int             `json:"sockets"`
	Users      int             `json:"users"`
	Leases     []Lease         `json:"leases"`
	UpS        int64           `json:"up_s"`
	CPU        float64         `json:"cpu"`                     // processors that it kept busy over the last second
	Heap       int64           `json:"heap"`                    // bytes
	DatabaseMS int64           `json:"database_ms"`             // since the database answered it last
	Risk       string          `json:"database_risk,omitempty"` // what its database may lose, or has lost
	Said       *NodeStatements `json:"said,omitempty"`
}

// NodeStatements are the part of a node's figures that is summed up, and not shown node by node.
type NodeStatements struct {
	At       shop.Millis    `json:"at"` // by Redis time
	Second   Flow           `json:"second"`
	Five     Flow           `json:"five"` // over PointEvery
	Payments PaymentFigures `json:"payments"`
}

// Lease is something that a node has for itself until an instant.
type Lease struct {
	Of    string      `json:"of"`
	Until shop.Millis `json:"until"`
}

// PaymentFigures are the payments that somebody has to know about.
type PaymentFigures struct {
	Open         int64 `json:"open"`          // opened at the gateway, and of which no last word has come
	InDoubt      int64 `json:"in_doubt"`      // orders past their deadline that cannot end without the gateway's answer
	RefundsStuck int64 `json:"refunds_stuck"` // wait for an operator
}

// Flow is what a node has done: in all, or over a while.
type Flow struct {
	OverMS    int64               `json:"over_ms"`
	Buys      int64               `json:"buys"`
	Reserved  int64               `json:"reserved"`
	Confirmed int64               `json:"confirmed"`
	Hidden    int64               `json:"hidden,omitempty"` // confirmed entries of hidden sales, which are not in confirmed
	Errors    int64               `json:"errors"`
	Refused   map[shop.Code]int64 `json:"refused,omitempty"`
	Press     PressCounts         `json:"press"`
}

// since is what was done after the earlier one of two totals.
func (f *Flow) since(earlier *Flow, over time.Duration) Flow {
	d := Flow{
		OverMS: max(1, over.Milliseconds()), Buys: f.Buys - earlier.Buys, Reserved: f.Reserved - earlier.Reserved,
		Confirmed: max(0, f.Confirmed-earlier.Confirmed), Hidden: f.Hidden - earlier.Hidden,
		Errors: f.Errors - earlier.Errors,
	}
	for code, n := range f.Refused {
		if n -= earlier.Refused[code]; n > 0 {
			if d.Refused == nil {
				d.Refused = make(map[shop.Code]int64)
			}
			d.Refused[code] = n
		}
	}
	for i := range f.Press {
		d.Press[i] = f.Press[i] - earlier.Press[i]
	}
	return d
}
