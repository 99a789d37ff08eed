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
	Clock(ctx context.Context) (shop.Instant, error)
	LockArchive(ctx context.Context, fn func(ctx context.Context) error) error
	OpensBetween(ctx context.Context, from, to shop.Millis) (bool, error)
	SalesToArchive(ctx context.Context, now, closedBefore shop.Millis, limit int) ([]shop.ID, error)
	MoveOrders(ctx context.Context, step ArchiveStep) (ArchiveDone, error)
	PlanArchive(ctx context.Context, sale shop.ID, next shop.Millis) (left bool, err error)
	SalesToBlank(ctx context.Context, now, closedBefore shop.Millis, limit int) ([]shop.ID, error)
	BlankOrders(ctx context.Context, sale, after shop.ID, limit int) (blanked int64, last shop.ID, err error)
	PlanBlank(ctx context.Context, sale shop.ID, next shop.Millis) (left bool, err error)
	ForgetGuests(
		ctx context.Context, before shop.Millis, after shop.ID, limit int,
	) (deleted int64, last shop.ID, err error)
	ArchiveState(ctx context.Context, now, closedBefore, blankBefore shop.Millis) (ArchiveState, error)
	ArchivedMonths(ctx context.Context, before shop.Month) ([]ArchivedMonth, error)
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
