package server

import (
	"net/netip"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"stampede/app/limits"
	"stampede/app/payment"
	"stampede/app/shop"
)

// money is what goes on about payments that were opened; nil where nothing can be paid.
type money struct {
	closer *payment.TradeCloser
	watch  *payment.PayReconciler
}

// composeMoney connects the cashier, and has the expirer ask it about orders whose payment was opened.
func (p *parts) composeMoney(c *Config, registry *prometheus.Registry) {
	cashier := &payment.Cashier{
		Gateway: p.gateway, Redis: p.inventory, Store: p.stores.db, Effects: p.effects,
		Margin:  payment.TradeMargin(c.PayWindow),
		MayCall: func(user shop.ID) error { return p.limits.Take(limits.QR, user, netip.Addr{}) },
	}
	p.services.cashier = cashier
	p.services.reconciliation = &payment.DailyReconciliation{
		Store: p.stores.db, Gateway: p.gateway, Zone: c.TimeZone.Location,
	}
	if !cashier.TakesPayments() {
		return
	}
	p.money = money{closer: payment.NewTradeCloser(cashier), watch: newPayWatch(cashier, c.AlipayQueryRate)}
	p.expirer.Closer = p.money.closer
	counts := cashier.Counts()
	for _, c := range []struct {
		name, help string
		n          *atomic.Int64
	}{
		{"payments_opened", "Presses of Pay that were answered with a payment.", &counts.Opened},
		{"payments_heard", "Words of the gateway about paid trades, repeats included.", &counts.Taken},
		{"payments_revived", "Orders that late money made paid.", &counts.Revived},
		{"payments_late_refunds", "Late payments that are given back.", &counts.Refunded},
		{"payments_odd", "Paid trades that do not fit their order: people have to look.", &counts.Odd},
		{"trades_closed", "Orders ended after the gateway had closed their trade.", &counts.Closed},
		{"trades_unanswered", "Closes without an answer of the gateway.", &counts.Unknown},
	} {
		counter(registry, "stampede_"+c.name+"_total", c.help, c.n.Load)
	}
	counter(registry, "stampede_trades_asked_total",
		"Questions of this node about payments that were opened and of which no last word has come.", p.money.watch.Asked)
	gauge(registry, "stampede_trades_behind_seconds",
		"How long the payment that waited longest to be asked about was due; above 25 a missed notification may take more than a minute.",
		func() float64 { return p.money.watch.Behind().Seconds() })
	gauge(registry, "stampede_trades_waiting",
		"Orders past their deadline that this node cannot end without the gateway's answer.", p.money.closer.Waiting)
}

// payWatchFull is the rate per second from which all questions of a node pass within a few seconds.
const payWatchFull = 25

// newPayWatch makes the duty that asks about open payments, at most perSecond times a second.
func newPayWatch(cashier *payment.Cashier, perSecond int) *payment.PayReconciler {
	watch := &payment.PayReconciler{
		Cashier: cashier, Pace: rate.NewLimiter(rate.Limit(perSecond), max(1, perSecond/10)),
	}
	if perSecond < payWatchFull {
		watch.AtOnce = max(1, perSecond*5)
	}
	return watch
}

// start starts the duties of money, which belong to the sweeper.
func (m *money) start(d *duties, c *Config) {
	if c.Roles.Sweeper && m.closer != nil {
		d.start("trade closer", m.closer.Run)
		d.start("payment reconciler", m.watch.Run)
	}
}
