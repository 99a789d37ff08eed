package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app"
)

// composeRedo connects what gives a promoted database back what it lacks.
func (p *parts) composeRedo(c *Config, registry *prometheus.Registry) {
	p.redo = &app.Redo{
		Partitions: c.Partitions, Database: p.stores.db, Redis: p.inventory, Inventory: p.ports.inventory,
		Orders: p.ports.orders, Sales: p.ports.sales, Fulfiller: p.fulfiller, Cashier: p.shop.Cashier,
	}
	counts := p.redo.Counts()
	counter(registry, "stampede_redo_orders_total",
		"Orders whose rows the database had lost in a failover, written again from the stream.", counts.Rows.Load)
	counter(registry, "stampede_redo_ended_total",
		"Orders that the database had forgotten to have ended, ended again after a failover.", counts.Ended.Load)
	counter(registry, "stampede_redo_payments_total",
		"Payments that the database had lost in a failover, learnt again from the gateway.", counts.Payments.Load)
	counter(registry, "stampede_redo_missing_total",
		"What a database lost in a failover and nobody can give back: people have to look at the log.", counts.Missing.Load)
}
