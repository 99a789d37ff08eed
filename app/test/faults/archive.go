package faults

import (
	"context"

	"stampede/app/archive"
	"stampede/app/shop"
)

// Archive injects faults into the store of the archive.
func Archive(to archive.ArchiveStore, f Fault) archive.ArchiveStore { return months{to, f} }

type months struct {
	archive.ArchiveStore
	f Fault
}

func (a months) MoveOrders(ctx context.Context, step archive.ArchiveStep) (archive.ArchiveDone, error) {
	return through(ctx, a.f, "Archive.MoveOrders",
		func() (archive.ArchiveDone, error) { return a.ArchiveStore.MoveOrders(ctx, step) })
}

func (a months) PlanArchive(ctx context.Context, sale shop.ID, next shop.Millis) (bool, error) {
	return through(ctx, a.f, "Archive.PlanArchive",
		func() (bool, error) { return a.ArchiveStore.PlanArchive(ctx, sale, next) })
}

func (a months) BlankOrders(
	ctx context.Context, sale, after shop.ID, limit int,
) (blanked int64, last shop.ID, err error) {
	blanked, err = through(ctx, a.f, "Archive.BlankOrders", func() (n int64, err error) {
		n, last, err = a.ArchiveStore.BlankOrders(ctx, sale, after, limit)
		return n, err
	})
	return blanked, last, err
}

func (a months) PlanBlank(ctx context.Context, sale shop.ID, next shop.Millis) (bool, error) {
	return through(ctx, a.f, "Archive.PlanBlank",
		func() (bool, error) { return a.ArchiveStore.PlanBlank(ctx, sale, next) })
}
