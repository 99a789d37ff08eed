package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/archive"
	"stampede/app/backoffice"
	"stampede/app/recovery"
)

// composeAfterwards connects what operators, and buyers, do after a sale, and gives the shop its desks for it.
func (p *parts) composeAfterwards(c *Config) {
	db := p.stores.db
	p.services.shipping = &backoffice.ShippingDesk{
		Inventory: p.inventory, Orders: db, Shipments: db, Effects: p.effects,
		Journal: p.services.journal, FinishAfter: c.FinishAfter,
	}
	p.finisher = &backoffice.Finisher{
		Inventory: p.inventory, Orders: db, Shipments: db, Effects: p.effects,
		Mail: p.mails.orderMail, Queue: p.mails.stream,
	}
	p.services.search = &backoffice.SearchDesk{
		Search: p.stores.shows(), Users: db, Devices: db, Blocks: db, Clock: p.clock,
	}
	p.services.reports = &backoffice.ReportDesk{
		Sums: p.stores.shows(), Figures: p.inventory, Clock: p.clock,
		Auditor: &recovery.Auditor{Redis: p.inventory, Store: db},
	}
	p.services.leftovers = &backoffice.Leftovers{
		Letters: &recovery.DeadLetters{
			Redis: p.inventory, Store: db,
			Effects:   p.effects,
			PayWindow: c.PayWindow, Journal: p.services.journal,
		},
		Postings: p.office.paid, Mails: p.mails.stream, Journal: p.services.journal,
	}
}

// composeArchive makes what moves orders of long ago to the archive.
func (p *parts) composeArchive(c *Config, registry *prometheus.Registry) {
	p.archivist = &archive.Archivist{
		Store: p.stores.db, Streams: p.inventory, ArchiveAfter: c.ArchiveAfter, PersonalAfter: c.PersonalAfter,
	}
	p.services.archive = &archive.ArchiveDesk{Archivist: p.archivist, Journal: p.services.journal}
	counts := &p.archivist.Counts
	counter(registry, "stampede_archived_orders_total", "Orders that this node moved to the archive.", counts.Moved.Load)
	counter(registry, "stampede_blanked_orders_total",
		"Orders from which this node took addresses and parcel numbers because they were old.", counts.Blanked.Load)
	counter(registry, "stampede_archive_failures_total", "Runs of the archive on this node that failed.", counts.Failed.Load)
}
