package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

// composeRecovery connects the recovery of partitions after a store has lost writes. Recovery has its own database
// connections, which may use any server.
func (p *parts) composeRecovery(c *Config, registry *prometheus.Registry) {
	db := p.stores.recoveryDB
	p.recovery = newDriver(c, db, p.inventory)
	p.recovery.Node = p.lease
	p.recovery.Trust = func(ctx context.Context, server string, generation int64) error {
		p.stores.db.History().Trust(server, generation)
		return p.lease.RunOnce(ctx)
	}
	counts := p.recovery.Counts()
	counter(registry, "stampede_recovery_passes_total", "Partitions that this node recovered.", counts.Passes.Load)
	counter(registry, "stampede_recovery_orders_total",
		"Orders whose lost rows this node restored in a recovery.", counts.Written.Load)
	counter(registry, "stampede_recovery_ended_total",
		"Orders that this node ended again in a recovery, because the database had lost that change.", counts.Ended.Load)
	gauge(registry, "stampede_recovery_problems",
		"Orders that an operator has to settle after recoveries of any node: see stampede recover.", counts.Problems.Load)
	gauge(registry, "stampede_database_lossless",
		"1: with its replication settings the database loses no commit in a failover; 0: it can lose commits.",
		func() int { return boolGauge(p.recovery.Database().Lossless) })
	gauge(registry, "stampede_database_semi_sync_fallback",
		"1: semi-synchronous replication is configured and not active.",
		func() int { return boolGauge(p.recovery.Database().Fallback) })
}

func boolGauge(value bool) int {
	if value {
		return 1
	}
	return 0
}

// newDriver returns the recovery driver of all partitions on the given connections.
func newDriver(c *Config, db *store.Store, inventory *streams.Inventory) *recovery.Driver {
	return &recovery.Driver{
		Partitions: c.Partitions, Store: db, Redis: inventory,
		PayWindow: c.PayWindow, Margin: shop.PayMargin(c.PayWindow), Spread: watchSpread,
		MinTimePerOrder: 2 * time.Second / time.Duration(max(1, c.AlipayQueryRate)),
	}
}

// watchSpread is the time over which the queries about recovered orders are spread, so that they do not delay queries
// about current payments. A recovered order was pending when the database lost commits.
const watchSpread = 30 * time.Second
