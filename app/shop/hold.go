package shop

import (
	"time"
)

// HoldRequest asks for units of a sale under a new hold number for an order that already exists (dead-letter
// replay, late payment). It follows the gate's rules for stock and limit, not for the window.
type HoldRequest struct {
	Sale  SaleRef
	Order ID
	User  ID
	Hold  int64
	Qty   int
}

// Return gives an order's units back to the stock, exactly once per (order, hold) (I3).
type Return struct {
	Sale  SaleRef
	Order ID
	Hold  int64
	User  ID   // whose limit they count to
	Burn  bool // the database refused the unit: withdrawn, not sold again (I2)
}

// SoldHold names the units of an order that is paid.
type SoldHold struct {
	Sale  SaleRef
	Order ID
	Hold  int64
}

// OpenHold is a hold that Redis keeps for an order.
type OpenHold struct {
	Order ID
	Hold  int64
	Qty   int
	Sold  bool // the order is paid: the units count as sold and are never returned
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

// Deadline is the instant at which an unpaid order expires.
type Deadline struct {
	Order ID
	PayBy Millis
}

const (
	// FlagLife is how long a sold-out flag counts, from before the read that confirmed it. Units that come back to an
	// empty stock rest longer than this in Redis, so that a valid flag knows everybody who was accepted (I9).
	FlagLife = 200 * time.Millisecond
)
