package archive

import (
	"context"
	"errors"

	"stampede/app/shop"
)

// ErrArchiveTaken means that another process works on the archive.
var ErrArchiveTaken = errors.New("another process works on the archive")

// ArchiveStore moves orders of sales that closed long ago from orders to orders_archive. Reads of orders by ID, buyer,
// sale or state cover both tables. In the archive an order changes only by late money, which is refunded, and by the
// removal of personal data. Errors wrap ErrTransient or ErrPermanent.
type ArchiveStore interface {
	// Clock is the instant by the database's clock.
	Clock(ctx context.Context) (shop.Instant, error)
	// LockArchive runs fn while no other process moves, blanks or drops orders; ErrArchiveTaken at once if one does.
	LockArchive(ctx context.Context, fn func(ctx context.Context) error) error
	// OpensBetween reports whether a sale opens at or after the first instant and before the second.
	OpensBetween(ctx context.Context, from, to shop.Millis) (bool, error)
	// SalesToArchive lists sales that closed before the instant, have left Redis, and are due for a check.
	SalesToArchive(ctx context.Context, now, closedBefore shop.Millis, limit int) ([]shop.ID, error)
	// MoveOrders checks the next orders of a sale and moves those that are settled, in one transaction.
	MoveOrders(ctx context.Context, step ArchiveStep) (ArchiveDone, error)
	// PlanArchive sets the next check of a sale, or none if all its orders have moved; left: some have not.
	PlanArchive(ctx context.Context, sale shop.ID, next shop.Millis) (left bool, err error)
	// SalesToBlank lists sales that closed before the instant, have left Redis, and may have personal data.
	SalesToBlank(ctx context.Context, now, closedBefore shop.Millis, limit int) ([]shop.ID, error)
	// BlankOrders removes personal data from the next settled orders of a sale with an ID above after, in both tables
	// and in their shipments and refunds, in one transaction. It returns the last ID, 0 at the end.
	BlankOrders(ctx context.Context, sale, after shop.ID, limit int) (blanked int64, last shop.ID, err error)
	// PlanBlank sets the next check of a sale, or none if it has no personal data. It returns whether some is left.
	PlanBlank(ctx context.Context, sale shop.ID, next shop.Millis) (left bool, err error)
	// ForgetGuests deletes addresses of guests that were entered before the instant, in the order of IDs, from the ID
	// given. It returns the last ID that it checked, 0 at the end.
	ForgetGuests(
		ctx context.Context, before shop.Millis, after shop.ID, limit int,
	) (deleted int64, last shop.ID, err error)
	// ArchiveState counts due sales and remaining orders.
	ArchiveState(ctx context.Context, now, closedBefore, blankBefore shop.Millis) (ArchiveState, error)
	// ArchivedMonths sums archived orders by month, the oldest first, up to but not including a month; 0: all.
	ArchivedMonths(ctx context.Context, before shop.Month) ([]ArchivedMonth, error)
	// DropOrders deletes the next settled archived orders, with IDs above after and of before the instant, and their
	// shipments, postings and trades, in one transaction. Their sums are added to those of their sales, which so
	// balance at each instant. Payments and refunds stay. It returns the last ID that it checked, 0 at the end.
	DropOrders(
		ctx context.Context, before shop.Millis, after shop.ID, now shop.Millis, limit int,
	) (last shop.ID, err error)
}

// ArchiveStep is one short transaction that moves orders.
type ArchiveStep struct {
	Sale, After   shop.ID // After is the last order that was checked
	Limit         int
	ChangedBefore shop.Millis // orders that changed later stay, by the database's clock
	Now           shop.Millis
}

// ArchiveDone is the result of a step.
type ArchiveDone struct {
	Looked, Moved int
	Last          shop.ID
}
