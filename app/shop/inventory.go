package shop

import (
	"context"
	"encoding/json"
	"time"

	"stampede/app/trace"
)

// Buy is one buy on its way to the Lua step. The order id is minted by the server; the same id, key and
// hash are sent again when a reply is lost (I6).
type Buy struct {
	Order   ID
	User    ID
	Sale    SaleRef
	Qty     int
	Key     string // the buyer's idempotency key, 8–64 characters of A-Z a-z 0-9 . _ -
	Hash    string // of the content under that key, 16 hex digits
	Address string // JSON of Address, or ""

	// NeedsPass: the sale asks for a pass. Passed is when the buy's valid pass was issued; 0: none. The Lua step spends
	// it.
	NeedsPass bool
	Passed    Millis

	Span *trace.Span // of the buy, when it is traced
}

// Verdict is what the Lua step says of a buy.
type Verdict int

// Verdicts of reserve.lua. Their numbers are part of the script's contract.
const (
	VerdictReserved   Verdict = 1  // accepted now
	VerdictRepeated   Verdict = 2  // the same key was accepted before: the stored answer
	VerdictOtherHash  Verdict = 3  // the same key with other content
	VerdictNotOpen    Verdict = 4  // before the window, by Redis time
	VerdictClosed     Verdict = 5  // after the window
	VerdictPaused     Verdict = 6  // an operator paused the sale
	VerdictLimit      Verdict = 7  // more units than the limit per buyer
	VerdictCap        Verdict = 8  // more reservations than the cap per buyer
	VerdictSoldOut    Verdict = 9  // not enough free units
	VerdictBacklog    Verdict = 10 // too many orders wait for the database
	VerdictCooldown   Verdict = 11 // units came back a moment ago and rest until every sold-out flag has ended (I9)
	VerdictNotLoaded  Verdict = 12 // the sale is not in Redis, or not armed yet
	VerdictRecovering Verdict = 13 // the partition is being recovered, or has no state at all
	VerdictEpoch      Verdict = 14 // the caller's epoch is not the partition's
	VerdictPass       Verdict = 15 // the sale asks for a pass, and none came that was not spent
	VerdictUsedID     Verdict = 22 // the order id has a hold in this sale; nothing was written (16–21: codes of calls)
)

// GateAnswer is the result of a buy. Order and Ticket are those of the first acceptance; Done serves for the place.
type GateAnswer struct {
	Verdict Verdict
	Order   ID
	Ticket  int64
	Done    int64
	Free    int64         // free units after the step
	Retry   time.Duration // with VerdictCooldown: how long
	Unasked bool          // this node has answered by itself, without the script
}

// Reservation is an accepted buy that has no row yet.
type Reservation struct {
	Order     ID         `json:"order"`
	Sale      ID         `json:"sale"`
	Qty       int        `json:"qty"`
	Key       string     `json:"key"`
	Ticket    int64      `json:"ticket"`
	Place     int64      `json:"place"`
	State     OrderState `json:"state"` // always reserved
	CreatedAt Millis     `json:"created_at"`

	Entry Entry `json:"-"` // which is to become its row
}

// Return gives an order's units back to the stock, exactly once per (order, hold) (I3).
type Return struct {
	Sale  SaleRef
	Order ID
	Hold  int64
	User  ID   // whose limit they count to
	Burn  bool // the database refused the unit: withdrawn, not sold again (I2)
}

// HoldRequest asks for units of a sale under a new hold number for an order that already exists (dead-letter
// replay, late payment). It follows the gate's rules for stock and limit, not for the window.
type HoldRequest struct {
	Sale  SaleRef
	Order ID
	User  ID
	Hold  int64
	Qty   int
}

// SoldHold names the units of an order that is paid.
type SoldHold struct {
	Sale  SaleRef
	Order ID
	Hold  int64
}

// Deadline is the instant at which an unpaid order expires.
type Deadline struct {
	Order ID
	PayBy Millis
}

// OpenHold is a hold that Redis keeps for an order.
type OpenHold struct {
	Order ID
	Hold  int64
	Qty   int
	Sold  bool // the order is paid: the units count as sold and are never returned
}

// SaleState is all that Redis knows of one sale, as warm-up and recovery write it.
type SaleState struct {
	Sale      *Sale
	Stock     int64
	Held      int64
	Sold      int64
	Withdrawn int64
	Tickets   int64
	Orders    []Order // every order of the sale that has a row: for keys, limits, holds
	// Acts are the withdrawals of operators that are settled: what they have taken is in Withdrawn.
	Acts []StockAct
	// Stuck is why an operator has to settle orders before the sale goes on; "": it sells.
	Stuck string
}

// PartitionState is the state of a partition in Redis.
type PartitionState struct {
	Exists     bool
	Recovering bool   // closed for a recovery,
	ClosedAt   Millis // since then,
	Claim      int64  // for a recovery that will begin this epoch,
	Lost       bool   // which restores the sales from rows
	Epoch      int64
	Seq        int64
	Seen       int64  // the highest seq that this node was told of in this epoch
	History    string // of the server that answered: begins anew when it starts or is promoted; "" if it does not tell
	Followed   string // the history that it continued as a replica that was promoted; "" for any other server
	Confirmed  string // the history in which the partition may sell; "" if none
	Database   RecordedHistory
}

// Evidence is what a partition in Redis knows of an order.
type Evidence struct {
	Hold  *OpenHold // nil: none is open
	Named bool      // the buyer's record names the order, so it was accepted here
	DueAt Millis    // its place in the delay queue; 0: it is not there
}

// Witness names an order that was accepted: a Redis that does not know of it has lost writes (I8).
type Witness struct {
	Sale  SaleRef
	User  ID
	Order ID
}

// SaleAudit is what one Redis script saw of a sale in one instant.
type SaleAudit struct {
	Counters
	Burnt int64
	Holds []OpenHold
	Units map[ID]int64 // per buyer, what the limit counts
	// Out is what withdrawals of operators have taken, by their numbers.
	Out map[int64]int64
}

// BuyersMark is a place in the history of a sale: everyone accepted before it is known. The zero mark knows nobody.
type BuyersMark struct {
	Epoch   int64  // of the partition
	Tickets int64  // the last one given out by then
	Entry   string // of the partition's stream; whoever was accepted later has an entry behind it
}

// Buyers is who has had reservations of a sale accepted: in Users is, perhaps more than once, everybody since the mark
// that was asked with, up to the instant of the counters at least.
type Buyers struct {
	Counters
	Users []ID
	All   bool // Users are everyone, not only who came since
	Mark  BuyersMark
}

// HoldsMark is what Redis says of a sale in one instant; the epoch is the one that the node carries. Two equal marks
// mean that no hold of the sale changed between them.
type HoldsMark struct {
	Counters
	Burnt int64
	Moves int64 // grows with every change of a hold but a reservation, which gives out a ticket
}

// Correction is what the counters of a sale should say, by its holds as they were at the mark.
type Correction struct {
	At                HoldsMark
	Held, Sold, Stock int64
}

// Delivery is how far the consumers of a partition are. Entries are ordered by Redis time and a number.
type Delivery struct {
	Epoch  int64   // of the partition, to which the stream belongs
	Newest EntryID // the last entry that was ever added
	Open   EntryID // the oldest one that is not acknowledged; zero when all are
}

// EntryID is the place of an entry in its stream.
type EntryID struct{ Time, Number int64 }

// After reports whether the entry was added after the other one.
func (e EntryID) After(other EntryID) bool {
	return e.Time > other.Time || e.Time == other.Time && e.Number > other.Number
}

// Entry is one reservation as the stream carries it: all that its row needs.
type Entry struct {
	StreamID    string // Redis stream id; its first part is ReservedAt
	Order       ID
	Sale        ID
	User        ID
	Partition   int
	Epoch       int64
	Seq         int64
	Ticket      int64
	Hold        int64
	Qty         int
	PriceFen    int64
	SaleVersion int64
	Key         string
	Hash        string
	Address     string
	ReservedAt  Millis
	Trace       *trace.SpanRef // where its trace goes on; nil: it is not traced
	Bad         error          // why the entry could not be read; then only StreamID and Partition are sure
}

// Row is the pending order that an entry becomes, without product name and deadline.
func (e *Entry) Row() Order {
	o := e.BareRow()
	o.State, o.Rev = Pending, FirstRev
	if e.Address != "" {
		o.Address = new(Address)
		if err := json.Unmarshal([]byte(e.Address), o.Address); err != nil {
			o.Address = nil // the gate wrote it, so it reads; if not, the order is worth more than the line
		}
	}
	return o
}

// order is the order that an entry names; state, rev and deadline are the caller's.
func (e *Entry) BareRow() Order {
	return Order{
		ID: e.Order, Sale: e.Sale, User: e.User, Partition: e.Partition, Qty: e.Qty,
		PriceFen: e.PriceFen, AmountFen: e.PriceFen * int64(e.Qty), Ticket: e.Ticket, Seq: e.Seq, Hold: e.Hold,
		SaleVersion: e.SaleVersion, Key: e.Key, ContentHash: e.Hash, CreatedAt: e.ReservedAt,
	}
}

// EntryHandler is what the consumer does with what it reads (see Fulfiller).
type EntryHandler interface {
	// Fulfil writes the rows of the entries, applies their effects and acknowledges them. Per entry it returns nil
	// (settled), ErrPermanent with the reason (it failed alone), or ErrTransient (its sale is locked; others go on). An
	// error for the whole batch is transient.
	Fulfil(ctx context.Context, entries []Entry) ([]error, error)
	// Refuse gives an entry that failed for good its row (state refused), returns its units and tells its
	// buyer. After it the entry goes to the dead letters. An entry whose order id belongs to another order gets no row.
	Refuse(ctx context.Context, e Entry, reason string) error
}

// DeadlineHandler is what the sweeper does with the orders whose deadline has come (see Expirer).
type DeadlineHandler interface {
	// Due expires the orders that are still unpaid and returns the units of all that ended. It answers
	// the orders that are finished with the delay queue; the rest come again when their lease ends.
	Due(ctx context.Context, partition int, orders []ID) ([]ID, error)
}
