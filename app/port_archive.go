package app

import (
	"context"
	"errors"
)

// ErrArchiveTaken means that another process is moving orders.
var ErrArchiveTaken = errors.New("another process is at work on the archive")

// ArchiveStore is where orders go whose sales closed long ago. Every read of orders by id, buyer, sale or state finds
// them there, and what changes one brings it back first. Errors wrap ErrTransient or ErrPermanent.
type ArchiveStore interface {
	// Clock is the instant by the database's clock.
	Clock(ctx context.Context) (Instant, error)
	// LockArchive runs fn while no other process moves, blanks or drops orders; ErrArchiveTaken at once if one does.
	LockArchive(ctx context.Context, fn func(ctx context.Context) error) error
	// NodesWithoutArchive counts nodes that may be alive and do not know the archive: of an earlier version.
	NodesWithoutArchive(ctx context.Context) (int, error)
	// OpensBetween reports whether a sale opens from the first instant on and before the second.
	OpensBetween(ctx context.Context, from, to Millis) (bool, error)

	// MakeMonths makes the partitions of the archive up to that of the instant, and answers those that are new.
	MakeMonths(ctx context.Context, until Millis) ([]Month, error)
	// SalesToArchive lists sales that closed before the instant, have left Redis, and are due to be looked at.
	SalesToArchive(ctx context.Context, now, closedBefore Millis, limit int) ([]ID, error)
	// MoveOrders looks at the next orders of a sale and moves those that are at rest, in one transaction.
	MoveOrders(ctx context.Context, step ArchiveStep) (ArchiveDone, error)
	// PlanArchive says when a sale is looked at next; never, if all its orders have moved, which it answers.
	PlanArchive(ctx context.Context, sale ID, next Millis) (left bool, err error)

	// SalesToBlank lists sales that closed before the instant, have left Redis, and whose orders may say something of
	// people.
	SalesToBlank(ctx context.Context, now, closedBefore Millis, limit int) ([]ID, error)
	// BlankOrders takes what the next orders of a sale that are over say of people out of them, and out of what hangs
	// on them, in one transaction. It answers the last one, 0 at the end.
	BlankOrders(ctx context.Context, step BlankStep) (blanked int64, last ID, err error)
	// PlanBlank says when a sale is looked at next; never, if no order of it says anything of people any more.
	PlanBlank(ctx context.Context, sale ID, next Millis) (left bool, err error)
	// ForgetGuests deletes addresses of guests' books that were entered before the instant, walking in the order of
	// ids after the one given; it answers the last one that it looked at, 0 at the end.
	ForgetGuests(ctx context.Context, before Millis, after ID, limit int) (deleted int64, last ID, err error)

	// ArchiveState reads what is where.
	ArchiveState(ctx context.Context, now, closedBefore, blankBefore Millis) (ArchiveState, error)
	// PlanDrop notes which of the archived months before the one given are to be dropped, or with dryRun notes nothing,
	// and answers what they add up to by now; the months that were planned before and are not dropped yet are among
	// them. From its commit on no order moves until they are dropped.
	PlanDrop(ctx context.Context, before Month, now Millis, dryRun bool) ([]ArchivedMonth, error)
	// DropSome drops the next orders of the oldest month that is planned, in one transaction, with what hangs on them
	// but money; when none is left, the month itself. Of each sale it keeps what the very orders that go add up to, so
	// that it balances at each instant; an order that is brought back meanwhile stays. What a crash left is planned
	// still.
	DropSome(ctx context.Context, now Millis, limit int) (DropStep, error)
}

// ArchiveStep is one short transaction of the way to the archive.
type ArchiveStep struct {
	Sale, After   ID // the order that was looked at last
	Limit         int
	ChangedBefore Millis // orders that changed later stay, by the database's clock
	Now           Millis
}

// ArchiveDone is what a step did.
type ArchiveDone struct {
	Looked, Moved int
	Last          ID
	Months        map[Month]int64 // how many moved to each
}

// BlankStep is one short transaction that takes personal data out of orders: of the archive, or of those that have not
// moved. Whoever walks through both begins with those: what moves meanwhile is found in the archive.
type BlankStep struct {
	Sale, After ID
	Archived    bool
	Limit       int
}

// DropStep is what a step of dropping did.
type DropStep struct {
	Month Month      // 0: no month is planned
	Sums  []DropSums // of the orders that went
	Over  bool       // the month itself is gone
}

// DropSums is what archived orders of a sale add up to.
type DropSums struct {
	Sale        ID    `bun:"sale_id"`
	Orders      int64 `bun:"orders"`
	Sold        int64 `bun:"sold"` // units
	Gone        int64 `bun:"gone"` // units of refunded orders
	MaxTicket   int64 `bun:"max_ticket"`
	MaxSeq      int64 `bun:"max_seq"`
	PaidFen     int64 `bun:"paid_fen"`
	RefundedFen int64 `bun:"refunded_fen"`
}
