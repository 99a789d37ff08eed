package shop

import (
	"time"
)

// HoldRequest requests units of a sale under a new hold number for an existing order (dead-letter replay, late
// payment). Stock and limit apply as at the gate; the sale window does not.
type HoldRequest struct {
	Sale  SaleRef
	Order ID
	User  ID
	Hold  int64
	Qty   int
}

// Return returns an order's units to the stock, exactly once per (order, hold) (I3).
type Return struct {
	Sale  SaleRef
	Order ID
	Hold  int64
	User  ID   // the buyer whose limit counts the units
	Burn  bool // the database refused the units: they are withdrawn and not sold again (I2)
}

// SoldHold names the units of a paid order.
type SoldHold struct {
	Sale  SaleRef
	Order ID
	Hold  int64
}

// OpenHold is a hold that Redis has for an order.
type OpenHold struct {
	Order ID
	Hold  int64
	Qty   int
	Sold  bool // the order is paid: the units count as sold and are never returned
}

// HoldsMark is the state of a sale in Redis at one instant. The epoch is the one that this node uses. Two equal marks
// mean that no hold of the sale changed between them.
type HoldsMark struct {
	Counters
	Burnt       int64
	HoldChanges int64 // incremented by each change of a hold except a reservation, which increments Tickets
}

// Correction has the correct counters of a sale, computed from its holds at the mark.
type Correction struct {
	At                HoldsMark
	Held, Sold, Stock int64
}

// BuyersMark is a position in the history of a sale: all buyers that were accepted before the position are included.
// The zero mark includes no buyer.
type BuyersMark struct {
	Epoch   int64  // epoch of the partition
	Tickets int64  // the last ticket at the mark
	Entry   string // entry ID in the partition's stream; later buyers have later entries
}

// Buyers lists the buyers with accepted reservations of a sale. Users has all buyers from the given mark to the instant
// of the counters, and possibly later ones. A buyer may occur more than once.
type Buyers struct {
	Counters
	Users []ID
	All   bool // Users has all buyers of the sale, not only those after the mark
	Mark  BuyersMark
}

// Deadline is the instant at which an unpaid order expires.
type Deadline struct {
	Order ID
	PayBy Millis
}

const (
	// FlagLife is the lifetime of a sold-out flag, counted from the start of the read that confirmed it. Units that
	// return to an empty stock wait longer than this in Redis. So a valid flag covers all accepted buyers (I9).
	FlagLife = 200 * time.Millisecond
)
