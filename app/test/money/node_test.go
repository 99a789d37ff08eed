package money

import (
	"time"

	"stampede/app/alipay"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/ports"
	"stampede/app/recovery"
	"stampede/app/shop"
)

// node is a process: the flows, and what they forget when it dies.
type node struct {
	w         *world
	ports     storePorts
	gateway   ports.Gateway
	effects   *order.Effects
	fulfiller *order.Fulfiller
	cashier   *payment.Cashier
	closer    *payment.TradeCloser
	expirer   *order.Expirer
	desk      *payment.RefundDesk
	refunder  *payment.Refunder
	watch     *payment.PayReconciler
	scan      *recovery.Reconciler
}

// node starts a process that lives as long as m lets it; nil: for ever.
func (w *world) node(m *mortal) *node {
	w.t.Helper()
	alipay, err := alipay.New(w.shop) // with a breaker of its own
	w.must(err)
	p := storePorts{m: m, inventory: w.inventory, db: w.db, gateway: alipay, notifier: w.buyers}
	inventory, orders, sales, payments, refunds := p.Inventory(), p.Orders(), p.Sales(), p.Payments(), p.Refunds()
	gateway, notifier := p.Gateway(), p.Notifier()
	effects := &order.Effects{Inventory: inventory, Notifier: notifier, Orders: orders, Told: &order.Told{Orders: w.db}}
	n := &node{w: w, ports: p, gateway: gateway, effects: effects}
	n.fulfiller = &order.Fulfiller{
		Catalogue: catalog.NewCatalogue(w.db, nil, time.UTC), Inventory: inventory, Orders: orders, Effects: effects,
		PayWindow: payWindow,
	}
	n.cashier = &payment.Cashier{
		Gateway: gateway, Inventory: inventory, Orders: orders, Sales: sales, Payments: payments, Refunds: refunds,
		Effects: effects, Margin: payment.TradeMargin(payWindow),
	}
	n.closer = payment.NewTradeCloser(n.cashier)
	n.expirer = &order.Expirer{Inventory: inventory, Orders: orders, Effects: effects, Closer: n.closer}
	n.desk = &payment.RefundDesk{
		Policy: payment.RefundAuto, Inventory: inventory, Orders: orders, Refunds: refunds, Effects: effects,
	}
	n.refunder = &payment.Refunder{
		Gateway: gateway, Refunds: refunds, Orders: orders, Inventory: inventory, Effects: effects,
	}
	n.watch = &payment.PayReconciler{Cashier: n.cashier}
	n.scan = &recovery.Reconciler{Partitions: 1, Inventory: inventory, Orders: orders, Sales: sales, Effects: effects}
	w.scans = append(w.scans, n.scan)
	return n
}

// dead reports whether the process has died.
func (n *node) dead() bool { return n.ports.m.dead() }

// press is the buyer pressing Pay and coming to the gateway's cashier.
func (n *node) press(o shop.Order) error {
	payment, err := n.cashier.Pay(n.w.ctx, o.User, o.ID, payment.ViaPage)
	if err == nil {
		_, err = n.w.sim.Come(payment.URL)
	}
	return err
}

// hear is a word of the gateway arriving, as a notification does.
func (n *node) hear(o shop.Order) error {
	t, err := n.gateway.Query(n.w.ctx, o.ID)
	if err == nil {
		err = n.cashier.Settle(n.w.ctx, t)
	}
	return err
}

// sweep is the deadline of orders coming.
func (n *node) sweep(orders ...shop.ID) error {
	_, err := n.expirer.Due(n.w.ctx, 0, orders)
	n.closer.RunOnce(n.w.ctx)
	return err
}

// duties are one round of everything that runs by itself.
func (n *node) duties(orders ...shop.ID) {
	n.w.hurry()
	_ = n.recovers(nil)
	_ = n.watch.RunOnce(n.w.ctx)
	_ = n.refunder.RunOnce(n.w.ctx)
	_ = n.scan.RunOnce(n.w.ctx)
	_ = n.sweep(orders...)
}
