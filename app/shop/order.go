package shop

import (
	"slices"
	"time"
)

// OrderState is the state of an order. Only MySQL decides it (I1):
//
//	             ┌──────────▶ refused                     (the row has the reason)
//	             │
//	reserved ────┼──────────▶ cancelled ◀─┐               (by its buyer)
//	(no row yet) │                        │
//	             └─▶ pending ─────────────┴─▶ expired     (not paid by pay_by)
//	                   │ money
//	                   ▼
//	                 paid ──▶ shipped ──▶ finished
//	                   │         │
//	                   └─────────┴─▶ refunding ─▶ refunded  (requested by its buyer or the shop)
//
//	late money:  cancelled │ expired ─▶ paid                (units are free: revived)
//	             cancelled │ expired ─▶ refunding           (no units are free: refunded at once)
//
// Once a payment was opened, a pending order becomes cancelled or expired only after the gateway has reported that the
// trade has ended (payment.TradeCloser). Replaying a dead letter changes its row from refused to pending, with a new
// hold number.
type OrderState string

// The states; Reserved is the only one without a row.
const (
	Reserved  OrderState = "reserved"
	Pending   OrderState = "pending"
	Paid      OrderState = "paid"
	Shipped   OrderState = "shipped"
	Finished  OrderState = "finished"
	Cancelled OrderState = "cancelled"
	Expired   OrderState = "expired"
	Refused   OrderState = "refused"
	Refunding OrderState = "refunding"
	Refunded  OrderState = "refunded"
)

// FirstRev is the rev of a new row.
const FirstRev = 1

// HasRow reports whether this is a state that a row of the orders table can have.
func (s OrderState) HasRow() bool {
	return slices.Contains([]OrderState{
		Pending, Paid, Shipped, Finished, Cancelled, Expired, Refused, Refunding, Refunded,
	}, s)
}

// Sold reports whether the units of an order in this state count as sold, if the order holds units.
func (s OrderState) Sold() bool {
	return s == Paid || s == Shipped || s == Finished || s == Refunding
}

// Order is a row of the orders table. Its buyer receives its JSON form. Fields without a JSON name are internal.
type Order struct {
	ID          ID         `json:"id"`
	Sale        ID         `json:"sale"`
	ProductName string     `json:"product_name"`
	Qty         int        `json:"qty"`
	PriceFen    int64      `json:"price_fen"`
	AmountFen   int64      `json:"amount_fen"`
	RefundedFen int64      `json:"refunded_fen,omitempty"` // part of AmountFen; all of it is refunded in the state Refunded
	State       OrderState `json:"state"`
	Reason      string     `json:"reason,omitempty"`
	Ticket      int64      `json:"ticket"`
	Rev         int        `json:"rev"` // incremented by each state change; 0 while reserved
	CreatedAt   Millis     `json:"created_at"`
	PayBy       Millis     `json:"pay_by,omitempty"` // set once, at the first insert, from Redis time
	PaidAt      Millis     `json:"paid_at,omitempty"`
	CancelledAt Millis     `json:"cancelled_at,omitempty"` // also set on expiry; reset by a revival
	TradeNo     string     `json:"trade_no,omitempty"`
	Tracking    string     `json:"tracking,omitempty"`
	Address     *Address   `json:"address,omitempty"`
	PayUntil    Millis     `json:"pay_until,omitempty"` // PaymentEnds, only in what its buyer receives

	User         ID     `json:"-"`
	Partition    int    `json:"-"`
	Seq          int64  `json:"-"` // number of the reservation within its partition (I8)
	Hold         int64  `json:"-"` // number of the hold on the stock; returns are keyed by (order, hold) (I3)
	SaleVersion  int64  `json:"-"` // version of the sale that set the price
	Key          string `json:"-"` // the buyer's idempotency key
	ContentHash  string `json:"-"` // hash of the buy's content under that key (P4)
	PublishedRev int    `json:"-"` // the last published rev; for a new row, its first rev
	TradeOpened  Millis `json:"-"` // set before the payment gateway is first contacted
	// InDoubt: a store may have lost the writes of an opened payment of this pending order. It is set in rows that were
	// locked for a change.
	InDoubt    bool   `json:"-"`
	InsertedAt Millis `json:"-"` // the beginning of the row's first state; 0: unknown, because a recovery wrote the row
	Touched    bool   `json:"-"` // the call that returned this row has set its change timestamp, see Notifier
}

// MaxPayMargin is the maximum time between the end of payments at the gateway and pay_by. It covers the rounding of the
// gateway's time_expire to seconds, clock differences of a few seconds, and the delivery of a last payment. So at
// pay_by a trade that is absent at the gateway can never be paid, and the unit is free at once (P5).
const MaxPayMargin = 10 * time.Second

// PayMargin returns the margin for orders with the given time to pay: the smaller of MaxPayMargin and a sixth.
func PayMargin(timeToPay time.Duration) time.Duration { return min(MaxPayMargin, timeToPay/6) }

// PaymentEnds returns the last instant at which the gateway accepts the payment of a pending order, and 0 in other
// states. Clients count down to it. It is derived from the row. If the time to pay is below a minute and the row was
// written late, it is a little before the gateway's limit. It is never after it, unless STAMPEDE_PAY_WINDOW has grown
// since the row was written.
func (o *Order) PaymentEnds() Millis {
	if o.State != Pending || o.PayBy == 0 {
		return 0
	}
	return MillisOf(o.PayBy.Add(-PayMargin(o.PayBy.Sub(o.CreatedAt))).Time().Truncate(time.Second))
}

// MayBePaid reports whether the gateway may have, or may still get, a trade of a pending order that was locked for a
// change: only a reply of the gateway ends it.
func (o *Order) MayBePaid() bool { return o.TradeOpened != 0 || o.InDoubt }

// HoldsUnits reports whether the order's units are unavailable to others. This includes Refunded: its units were
// withdrawn and are not sold again. An order that had ended before late money arrived holds no units.
func (o *Order) HoldsUnits() bool {
	switch o.State {
	case Cancelled, Expired, Refused:
		return false
	case Refunding, Refunded:
		return o.CancelledAt == 0
	default:
		return true
	}
}

// RevivalPending reports whether late money of an ended order is unresolved. A hold with the hold number of its row may
// be created soon.
func (o *Order) RevivalPending() bool {
	return (o.State == Expired || o.State == Cancelled) && o.TradeNo != ""
}

// LostRevival reports whether the row has ended, but Redis has a newer hold of the order. A hold number is stored in
// the row before it is stored in Redis. So the database has lost the revival: late money, or a replay of the order's
// dead letter.
func (o *Order) LostRevival(h OpenHold) bool { return !o.HoldsUnits() && o.Hold < h.Hold }

// Ref names the sale of the order for the inventory.
func (o *Order) Ref() SaleRef { return SaleRef{ID: o.Sale, Partition: o.Partition} }

// Reasons in the row of an order whose money arrived after it had ended: the result and its cause.
const (
	ReasonPaidLate    = "paid_late"          // paid: units were free
	ReasonLateSoldOut = "paid_late_sold_out" // refunded: no unit is free
	ReasonLateLimit   = "paid_late_limit"    // refunded: the buyer has reached the limit in the meantime
	ReasonLateOver    = "paid_late_over"     // refunded: the sale ended long ago
)

// ReasonRecovered marks an order that a recovery ended: the database had lost the end of the order, and Redis proved
// it.
const ReasonRecovered = "recovered"

// Reasons of a refused order.
const (
	ReasonGuard  = "stock_guard"   // the database had fewer units than Redis: the units are burnt (I2)
	ReasonNoSale = "unknown_sale"  // the sale does not exist in the database
	ReasonKey    = "duplicate_key" // another order of the buyer has this key; Redis had lost that key
	ReasonDead   = "undeliverable" // the entry failed because of its own content, see the dead letters
)

// NewOrder is a row to be inserted: Pending (the guard takes its units), Cancelled or Refused.
type NewOrder = Order

// Inserted is the result of inserting one row.
type Inserted struct {
	Order Order // the present row in the database, regardless of its writer
	Fresh bool  // this call inserted the row; false: the row already existed and is unchanged
}

// OrdersQuery pages through the orders of one user, newest first.
type OrdersQuery struct {
	User   ID
	Sale   ID  // 0: all
	Before ID  // 0: from the newest
	Limit  int // 1–100
}

// SaleTotals has the numbers of a sale from one MySQL snapshot.
type SaleTotals struct {
	Sale           Sale
	Taken          int64 // units counted by the stock guard: those of rows that hold units
	Withdrawn      int64
	HeldUnits      int64 // of pending rows
	SoldUnits      int64 // of paid, shipped, finished and refunding rows
	RefundedUnits  int64 // of refunded rows
	Orders         int64
	MaxTicket      int64
	MaxSeq         int64
	OverLimit      []ID // buyers with more units than the limit
	Duplicates     int64
	PendingRows    int64
	WithoutPayment int64 // orders that are paid, shipped or finished without a payment
	// Pending are the withdrawals that Redis may have applied and that Withdrawn does not include yet.
	Pending []int64
}
