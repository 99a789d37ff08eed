package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app"
)

// composeArchive makes what moves orders of long ago to the archive.
func (p *parts) composeArchive(c *Config, registry *prometheus.Registry) {
	p.archivist = archivistOf(c, p.ports.archive, p.inventory)
	counts := &p.archivist.Counts
	counter(registry, "stampede_archived_orders_total", "Orders that this node moved to the archive.", counts.Moved.Load)
	counter(registry, "stampede_blanked_orders_total",
		"Orders from which this node took addresses and parcel numbers because they were old.", counts.Blanked.Load)
	counter(registry, "stampede_archive_failures_total", "Runs of the archive on this node that failed.", counts.Failed.Load)
}

// streamFigures tells how many reservations wait for their rows.
type streamFigures interface {
	PartitionFigures(ctx context.Context) ([]app.PartitionFigures, error)
}

func archivistOf(c *Config, store app.ArchiveStore, streams streamFigures) *app.Archivist {
	return &app.Archivist{
		Store: store, Streams: streams, ArchiveAfter: c.ArchiveAfter, PersonalAfter: c.PersonalAfter,
	}
}

// RunArchive moves and blanks what is due, and journals what was done.
func (t *Tools) RunArchive(ctx context.Context, anyway bool, progress func(app.Archived)) (app.Archived, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return app.Archived{}, err
	}
	archivist := archivistOf(&t.config, t.stores.db, inventory)
	archivist.Anyway, archivist.Progress = anyway, progress
	return t.archiveDesk().Run(ctx, t.actor, archivist)
}

func (t *Tools) archiveDesk() *app.ArchiveDesk {
	return &app.ArchiveDesk{Store: t.stores.db, Journal: t.journal()}
}

// ArchiveState says what is where; it needs the database alone.
func (t *Tools) ArchiveState(ctx context.Context) (app.ArchiveState, error) {
	if err := t.prepared(ctx); err != nil {
		return app.ArchiveState{}, err
	}
	return archivistOf(&t.config, t.stores.db, nil).State(ctx)
}

// DropArchive removes archived months before the one given.
func (t *Tools) DropArchive(ctx context.Context, before app.Month, dryRun bool) (app.ArchiveDrop, error) {
	if err := t.prepared(ctx); err != nil {
		return app.ArchiveDrop{}, err
	}
	return t.archiveDesk().Drop(ctx, t.actor, before, dryRun)
}
