package shop

import (
	"slices"
)

// OrderState is the one fate of an order. Only MySQL decides it (I1):
//
//	             ┌──────────▶ refused                     (a row that says why)
//	             │
//	reserved ────┼──────────▶ cancelled ◀─┐               (by its buyer)
//	(no row yet) │                        │
//	             └─▶ pending ─────────────┴─▶ expired     (not paid by pay_by)
//	                   │ money
//	                   ▼
//	                 paid ──▶ shipped ──▶ finished
//	                   │         │
//	                   └─────────┴─▶ refunding ─▶ refunded  (its buyer or the shop wants it)
//
//	late money:  cancelled │ expired ─▶ paid                (units are free: revived)
//	             cancelled │ expired ─▶ refunding           (none are: given back at once)
//
// Once a payment was opened, pending ends as cancelled or expired only after the gateway has said that the trade is
// over (Cashier). A replayed dead letter goes refused → pending on the same row, under a new hold number.
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

// Sold reports whether the units of an order in this state count as sold, if it holds any.
func (s OrderState) Sold() bool {
	return s == Paid || s == Shipped || s == Finished || s == Refunding
}

// Order is a row of the orders table; its JSON form is what its buyer sees. Fields without a JSON name are internal.
type Order struct {
	ID          ID         `json:"id"`
	Sale        ID         `json:"sale"`
	ProductName string     `json:"product_name"`
	Qty         int        `json:"qty"`
	PriceFen    int64      `json:"price_fen"`
	AmountFen   int64      `json:"amount_fen"`
	State       OrderState `json:"state"`
	Reason      string     `json:"reason,omitempty"`
	Ticket      int64      `json:"ticket"`
	Rev         int        `json:"rev"` // grows by one with each state; 0 while reserved
	CreatedAt   Millis     `json:"created_at"`
	PayBy       Millis     `json:"pay_by,omitempty"` // set once, at the first insert, from Redis time
	PaidAt      Millis     `json:"paid_at,omitempty"`
	CancelledAt Millis     `json:"cancelled_at,omitempty"` // also of expiry; 0 again when late money revives it
	TradeNo     string     `json:"trade_no,omitempty"`
	Tracking    string     `json:"tracking,omitempty"`
	Address     *Address   `json:"address,omitempty"`

	User        ID     `json:"-"`
	Partition   int    `json:"-"`
	Seq         int64  `json:"-"` // number of the reservation within its partition (I8)
	Hold        int64  `json:"-"` // number of the hold on the stock; return is keyed by (order, hold) (I3)
	SaleVersion int64  `json:"-"` // version of the sale that set the price
	Key         string `json:"-"` // the buyer's idempotency key
	ContentHash string `json:"-"` // of what was asked under that key (P4)
	ToldRev     int    `json:"-"` // the last rev that was published; of a new row, its first
	TradeOpened Millis `json:"-"` // set before the payment gateway is first contacted
	Stamped     bool   `json:"-"` // the call that answered this row has changed and stamped it, see Notifier
}

// HoldsUnits reports whether the order keeps its units from others. Refunded counts: its units were withdrawn and are
// not sold again. An order that had ended before late money came holds none.
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

// Reviving reports whether late money of an ended order is not resolved yet: its hold number may soon be that of a
// hold.
func (o *Order) Reviving() bool {
	return (o.State == Expired || o.State == Cancelled) && o.TradeNo != ""
}

// LacksRevival reports whether the order ended before it got that hold, and the database has lost what followed: late
// money, or a replay of its dead letter. The number of a hold is in the row before it is in Redis.
func (o *Order) LacksRevival(h OpenHold) bool { return !o.HoldsUnits() && o.Hold < h.Hold }

// Ref names the sale of the order for the inventory.
func (o *Order) Ref() SaleRef { return SaleRef{ID: o.Sale, Partition: o.Partition} }

// Reasons in the row of an order whose money came after it had ended: what happened, and why.
const (
	ReasonPaidLate    = "paid_late"          // it is paid all the same: units were free
	ReasonLateSoldOut = "paid_late_sold_out" // given back: no unit is free any more
	ReasonLateLimit   = "paid_late_limit"    // given back: its buyer has reached the limit meanwhile
	ReasonLateOver    = "paid_late_over"     // given back: the sale ended long ago
)

// ReasonRecovered is that of an order whose end the database had lost, and of which Redis shows that it had ended.
const ReasonRecovered = "recovered"

// Reasons of a refused order.
const (
	ReasonGuard  = "stock_guard"   // the database had fewer units than Redis: the unit is burnt (I2)
	ReasonNoSale = "unknown_sale"  // the sale does not exist in the database
	ReasonKey    = "duplicate_key" // another order of the buyer has this key (Redis had lost it)
	ReasonDead   = "undeliverable" // the entry failed on its own account, see the dead letters
)

// NewOrder is a row to be inserted: Pending (the guard takes its units), Cancelled or Refused.
type NewOrder = Order

// Inserted is what became of one row that was to be inserted.
type Inserted struct {
	Order Order // the row as the database has it now, whoever wrote it
	Fresh bool  // this call wrote it; false: it was there before and nothing changed
}

// OrdersQuery pages through the orders of one user, newest first.
type OrdersQuery struct {
	User   ID
	Sale   ID  // 0: all
	Before ID  // 0: from the newest
	Limit  int // 1–100
}

// SaleTotals is what one MySQL snapshot says of a sale.
type SaleTotals struct {
	Sale        Sale
	Taken       int64 // the guard: units given to rows that hold units
	Withdrawn   int64
	HeldUnits   int64 // of pending rows
	SoldUnits   int64 // of paid, shipped, finished and refunding rows
	GoneUnits   int64 // of refunded rows
	Orders      int64
	MaxTicket   int64
	MaxSeq      int64
	OverLimit   []ID // buyers with more units than the limit
	Duplicates  int64
	PendingRows int64
	Moneyless   int64 // orders that are paid, shipped or finished without a payment
	// Pending are the withdrawals that Redis may have decided and Withdrawn does not have yet.
	Pending []int64
}
