package faults

import (
	"context"

	"stampede/app"
)

// Archive puts a fault before a store of what moves to the archive and out of it.
func Archive(to app.ArchiveStore, f Fault) app.ArchiveStore { return archive{to, f} }

type archive struct {
	app.ArchiveStore
	f Fault
}

func (a archive) MakeMonths(ctx context.Context, until app.Millis) ([]app.Month, error) {
	return through(ctx, a.f, "Archive.MakeMonths",
		func() ([]app.Month, error) { return a.ArchiveStore.MakeMonths(ctx, until) })
}

func (a archive) MoveOrders(ctx context.Context, step app.ArchiveStep) (app.ArchiveDone, error) {
	return through(ctx, a.f, "Archive.MoveOrders",
		func() (app.ArchiveDone, error) { return a.ArchiveStore.MoveOrders(ctx, step) })
}

func (a archive) PlanArchive(ctx context.Context, sale app.ID, next app.Millis) (bool, error) {
	return through(ctx, a.f, "Archive.PlanArchive",
		func() (bool, error) { return a.ArchiveStore.PlanArchive(ctx, sale, next) })
}

func (a archive) BlankOrders(ctx context.Context, step app.BlankStep) (blanked int64, last app.ID, err error) {
	blanked, err = through(ctx, a.f, "Archive.BlankOrders", func() (n int64, err error) {
		n, last, err = a.ArchiveStore.BlankOrders(ctx, step)
		return n, err
	})
	return blanked, last, err
}

func (a archive) PlanBlank(ctx context.Context, sale app.ID, next app.Millis) (bool, error) {
	return through(ctx, a.f, "Archive.PlanBlank",
		func() (bool, error) { return a.ArchiveStore.PlanBlank(ctx, sale, next) })
}

func (a archive) DropSome(ctx context.Context, now app.Millis, limit int) (app.DropStep, error) {
	return through(ctx, a.f, "Archive.DropSome",
		func() (app.DropStep, error) { return a.ArchiveStore.DropSome(ctx, now, limit) })
}
