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
	p.shop.ShippingDesk = &backoffice.ShippingDesk{
		Store: db, RedisTime: p.inventory.Now, Effects: p.effects, Journal: p.shop.Journal, FinishAfter: c.FinishAfter,
	}
	p.finisher = &backoffice.Finisher{
		Store: db, RedisTime: p.inventory.Now, Effects: p.effects, Mail: p.mails.orderMail, Queue: p.mails.stream,
	}
	p.shop.SearchDesk = &backoffice.SearchDesk{Reader: p.stores.shows(), Store: db, Clock: p.clock}
	p.shop.ReportDesk = &backoffice.ReportDesk{
		Reader: p.stores.shows(), Redis: p.inventory, Clock: p.clock,
		Auditor: &recovery.Auditor{Redis: p.inventory, Store: db},
	}
	p.shop.Leftovers = &backoffice.Leftovers{
		Letters: &recovery.DeadLetters{
			Redis: p.inventory, Store: db,
			Effects:   p.effects,
			PayWindow: c.PayWindow, Journal: p.shop.Journal,
		},
		Postings: p.office.paid, Mails: p.mails.stream, Journal: p.shop.Journal,
	}
}

// composeArchive makes what moves orders of long ago to the archive.
func (p *parts) composeArchive(c *Config, registry *prometheus.Registry) {
	p.archivist = &archive.Archivist{
		Store: p.stores.db, PartitionFigures: p.inventory.PartitionFigures,
		ArchiveAfter: c.ArchiveAfter, PersonalAfter: c.PersonalAfter,
	}
	p.shop.ArchiveDesk = &archive.ArchiveDesk{Archivist: p.archivist, Journal: p.shop.Journal}
	counts := &p.archivist.Counts
	counter(registry, "stampede_archived_orders_total", "Orders that this node moved to the archive.", counts.Moved.Load)
	counter(registry, "stampede_blanked_orders_total",
		"Orders from which this node took addresses and parcel numbers because they were old.", counts.Blanked.Load)
	counter(registry, "stampede_archive_failures_total", "Runs of the archive on this node that failed.", counts.Failed.Load)
}
