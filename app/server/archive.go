package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app"
)

// composeArchive makes what moves orders of long ago to the archive.
func (p *parts) composeArchive(c *Config, registry *prometheus.Registry) {
	p.archivist = &app.Archivist{
		Store: p.ports.archive, Streams: p.inventory, ArchiveAfter: c.ArchiveAfter, PersonalAfter: c.PersonalAfter,
	}
	p.shop.ArchiveDesk = &app.ArchiveDesk{Archivist: p.archivist, Journal: p.shop.Journal}
	counts := &p.archivist.Counts
	counter(registry, "stampede_archived_orders_total", "Orders that this node moved to the archive.", counts.Moved.Load)
	counter(registry, "stampede_blanked_orders_total",
		"Orders from which this node took addresses and parcel numbers because they were old.", counts.Blanked.Load)
	counter(registry, "stampede_archive_failures_total", "Runs of the archive on this node that failed.", counts.Failed.Load)
}
