package shop

import (
	"time"

	"stampede/app/trace"
)

// Buy is a buy request that is passed to the Lua step. The server generates the order ID. A resend after a lost reply
// has the same ID, key and hash (I6).
type Buy struct {
	Order   ID
	User    ID
	Sale    SaleRef
	Qty     int
	Key     string // the buyer's idempotency key, 8–64 characters of A-Z a-z 0-9 . _ -
	Hash    string // hash of the buy's content under Key, 16 hex digits
	Address string // JSON of Address, or ""

	// NeedsPass: the sale requires a pass. Passed is the time when the buy's valid pass was issued; 0: the buy has no
	// valid pass. The Lua step consumes the pass.
	NeedsPass bool
	Passed    Millis

	Span *trace.Span // span of the buy; nil: not traced
}

// Verdict is the result code of the Lua step for a buy.
type Verdict int

// Verdicts of reserve.lua. The numbers are part of the script's contract; 16–21 are result codes of other script calls.
const (
	VerdictReserved   Verdict = 1  // accepted now
	VerdictRepeated   Verdict = 2  // the same key was accepted earlier; the result is the stored one
	VerdictOtherHash  Verdict = 3  // the same key with other content
	VerdictNotOpen    Verdict = 4  // before the window, by Redis time
	VerdictClosed     Verdict = 5  // after the window
	VerdictPaused     Verdict = 6  // an operator paused the sale
	VerdictLimit      Verdict = 7  // more units than the limit per buyer
	VerdictCap        Verdict = 8  // more reservations than the cap per buyer
	VerdictSoldOut    Verdict = 9  // not enough free units
	VerdictBacklog    Verdict = 10 // too many stream entries have no row yet
	VerdictCooldown   Verdict = 11 // units were returned recently and wait until all sold-out flags have expired (I9)
	VerdictNotLoaded  Verdict = 12 // the sale is not in Redis, or not armed yet
	VerdictRecovering Verdict = 13 // the partition is being recovered or has no state
	VerdictEpoch      Verdict = 14 // the caller's epoch is not the partition's
	VerdictPass       Verdict = 15 // the sale requires a pass; the buy has no valid pass, or the pass was already used
	VerdictUsedID     Verdict = 22 // the order id has a hold in this sale; nothing was written
)

// GateResult is the result of a buy. With VerdictRepeated, Order and Ticket are those of the first acceptance. PlaceOf
// computes the place from Ticket and Done.
type GateResult struct {
	Verdict Verdict
	Order   ID
	Ticket  int64
	Done    int64
	Free    int64         // free units after the step
	Retry   time.Duration // with VerdictCooldown: pause before the next try
	Local   bool          // decided on this node, without the script
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

	Entry Entry `json:"-"` // the stream entry that becomes the row
}
