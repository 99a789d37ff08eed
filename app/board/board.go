package board

import (
	"time"

	"stampede/app/shop"
)

const (
	// UpdateInterval is the interval at which nodes publish their figures and boards are sent.
	UpdateInterval = time.Second
	// PointEvery is the distance between two points of the history, and the time that each point covers.
	PointEvery = 5 * time.Second
	// Points is the number of stored points: 15 minutes.
	Points = 180
	// figuresLife is the maximum age of a node's figures: a node with older figures is gone.
	figuresLife = 5 * time.Second
	// nodeLife is how long the figures of a node are kept after its last report.
	nodeLife = time.Minute
	// MaxSales is the maximum number of sales on a board.
	MaxSales = 60
)

// Board is the state of the whole shop at an instant. Values per second are sums over all nodes.
type Board struct {
	Now shop.Millis `json:"now"`
	Rates
	LatencyMS  LatencyTimes       `json:"latency_ms"` // over the last 5 s
	Sales      []Sale             `json:"sales"`      // open sales, then the next ones
	Partitions []PartitionFigures `json:"partitions"`
	Nodes      []NodeFigures      `json:"nodes"`
	Payments   PaymentFigures     `json:"payments"`
	ErrorsPerS float64            `json:"errors_s"` // errors in the logs
	Alarms     []Alarm            `json:"alarms"`
}

// Rates are the buys of the whole shop per second.
type Rates struct {
	BuysPerS      float64               `json:"buys_s"`             // buy attempts, rejected ones included
	ReservedPerS  float64               `json:"reserved_s"`         // accepted by the Lua step
	ConfirmedPerS float64               `json:"confirmed_s"`        // entries with a committed row and a published event
	HiddenPerS    float64               `json:"hidden_s,omitempty"` // entries of hidden sales, which are not in confirmed_s
	RejectedPerS  map[shop.Code]float64 `json:"rejected_s"`
}

// History is a board with the points before it.
type History struct {
	Board
	History []Point `json:"history"`
}

// Point is a point of the history. It covers the PointEvery before it.
type Point struct {
	At shop.Millis `json:"at"`
	Rates
	LatencyMS  LatencyTimes `json:"latency_ms"`
	ErrorsPerS float64      `json:"errors_s"`
	Sockets    int          `json:"sockets"`
	Open       int          `json:"open"`    // open sales that are not paused
	Lags       []int64      `json:"lags"`    // per partition: entries not yet delivered
	Pending    int64        `json:"pending"` // of all partitions: entries delivered and not settled
	Dead       int64        `json:"dead"`    // dead letters of all partitions
}

// Sale is a sale on the board.
type Sale struct {
	ID        shop.ID     `json:"id"`
	Name      string      `json:"name"` // name of the product
	Phase     shop.Phase  `json:"phase"`
	Paused    bool        `json:"paused"`
	Stuck     string      `json:"stuck,omitempty"` // why the sale waits for an operator after a recovery
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

// PartitionFigures has the numbers of one stream from XINFO and XPENDING.
type PartitionFigures struct {
	P         int   `json:"p"`
	Lag       int64 `json:"lag"`       // not yet delivered
	Pending   int64 `json:"pending"`   // delivered, not settled; lag + pending entries wait for their rows
	OldestMS  int64 `json:"oldest_ms"` // age of the oldest waiting entry; 0: none
	Dead      int64 `json:"dead"`      // dead letters
	Deadlines int64 `json:"deadlines"` // orders before their payment deadline, also those that were paid since

	Unreachable bool `json:"away,omitempty"`    // unreachable; the other numbers are 0
	Rejects     bool `json:"rejects,omitempty"` // accepts reads and rejects writes

	ClosedAt shop.Millis `json:"closed_at,omitempty"` // closed for a recovery since then
}

// NodeFigures is a node's report about itself.
type NodeFigures struct {
	ID         int         `json:"id"` // the number in the ids that it mints
	Name       string      `json:"name"`
	Version    string      `json:"version"`
	Roles      []string    `json:"roles"`
	Sockets    int         `json:"sockets"`
	Users      int         `json:"users"`
	Leases     []Lease     `json:"leases"`
	UpSeconds  int64       `json:"up_s"`
	CPU        float64     `json:"cpu"`                     // processors used over the last second
	Heap       int64       `json:"heap"`                    // bytes
	DatabaseMS int64       `json:"database_ms"`             // since the last response from the database
	Risk       string      `json:"database_risk,omitempty"` // a possible or detected loss of commits
	Problems   int64       `json:"problems,omitempty"`      // orders that an operator has to settle, of the whole shop
	Report     *NodeReport `json:"said,omitempty"`
}

// NodeReport is the part of a node's figures that is added up and not shown per node.
type NodeReport struct {
	At          shop.Millis    `json:"at"` // by Redis time
	Second      Flow           `json:"second"`
	FiveSeconds Flow           `json:"five"` // over PointEvery
	Payments    PaymentFigures `json:"payments"`
	Faults      []Fault        `json:"faults,omitempty"`
}

// Lease is an exclusive right of a node until an instant.
type Lease struct {
	Name  string      `json:"name"`
	Until shop.Millis `json:"until"`
}

// PaymentFigures has the numbers of open and problematic payments.
type PaymentFigures struct {
	Open         int64 `json:"open"`                  // opened at the gateway, without a final result
	InDoubt      int64 `json:"in_doubt"`              // orders past their deadline that wait for the gateway's result
	RefundsStuck int64 `json:"refunds_stuck"`         // waiting for an operator
	Differences  int64 `json:"differences,omitempty"` // orders that differ from the gateway's records
}

// Flow has the counts of a node: since its start, or over a period.
type Flow struct {
	OverMS    int64               `json:"over_ms"`
	Buys      int64               `json:"buys"`
	Reserved  int64               `json:"reserved"`
	Confirmed int64               `json:"confirmed"`
	Hidden    int64               `json:"hidden,omitempty"` // confirmed entries of hidden sales, not in confirmed
	Errors    int64               `json:"errors"`
	Rejected  map[shop.Code]int64 `json:"rejected,omitempty"`
	Latency   LatencyCounts       `json:"latency"`
}

// since returns the difference to an earlier total.
func (f *Flow) since(earlier *Flow, over time.Duration) Flow {
	d := Flow{
		OverMS: max(1, over.Milliseconds()), Buys: f.Buys - earlier.Buys, Reserved: f.Reserved - earlier.Reserved,
		Confirmed: max(0, f.Confirmed-earlier.Confirmed), Hidden: f.Hidden - earlier.Hidden,
		Errors: f.Errors - earlier.Errors,
	}
	for code, n := range f.Rejected {
		if n -= earlier.Rejected[code]; n > 0 {
			if d.Rejected == nil {
				d.Rejected = make(map[shop.Code]int64)
			}
			d.Rejected[code] = n
		}
	}
	for i := range f.Latency {
		d.Latency[i] = f.Latency[i] - earlier.Latency[i]
	}
	return d
}
