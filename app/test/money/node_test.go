package money

import (
	"context"
	"time"

	"stampede/app/alipay"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/test/faults"
)

// node is a process: the services and their state in memory.
type node struct {
	w              *world
	dying          *dyingProcess   // nil: does not die
	ctx            context.Context // context of its calls, which `dying` counts
	gateway        payment.Gateway
	effects        *order.Effects
	fulfiller      *order.Fulfiller
	payments       *payment.PaymentService
	closer         *payment.TradeCloser
	expirer        *order.Expirer
	addresses      *order.Addresses
	refundRequests *payment.RefundRequests
	refunder       *payment.Refunder
	payReconciler  *payment.PayReconciler
	reconciler     *recovery.Reconciler
}

// node starts a process. It dies after the calls that `dying` permits; nil: it does not die.
func (w *world) node(dying *dyingProcess) *node {
	w.t.Helper()
	adapter, err := alipay.New(w.shop) // with its own circuit breaker
	w.must(err)
	gateway := faults.Gateway(adapter, dying.fault)
	stock, queue := w.inventory.Stock(), recordedQueue{w.inventory.Queue(), w.buyers}
	effects := &order.Effects{
		Stock: stock, Queue: queue, Notifier: w.buyers, Store: w.db.Orders(),
		PublishMarks: &order.PublishMarks{Store: w.db.Orders()},
	}
	n := &node{w: w, dying: dying, ctx: faults.With(w.ctx, dying.fault), gateway: gateway, effects: effects}
	n.fulfiller = &order.Fulfiller{
		Catalogue: catalog.NewCatalogue(w.db.Catalogue(), w.db.Sales(), nil, time.UTC), Stock: stock,
		Store: w.db.Orders(), Effects: effects,
		PayWindow: payWindow,
	}
	n.payments = &payment.PaymentService{
		Gateway: gateway, ShopID: w.shopID, Stock: stock, Waiting: queue.Waiting,
		Trades: w.db.Payments(), Refunds: w.db.Refunds(),
		Orders: w.db.Orders(), Lost: w.db.LostOrders(), Sale: w.db.Sales().Sale,
		Effects: effects, Margin: shop.PayMargin(payWindow),
	}
	n.closer = payment.NewTradeCloser(n.payments)
	reader := &order.Reader{Catalogue: n.fulfiller.Catalogue, Stock: stock, Queue: queue, Store: w.db.Orders()}
	n.expirer = &order.Expirer{
		Stock: stock, Store: w.db.Orders(), Effects: effects, Closer: n.closer, Reader: reader,
	}
	n.addresses = &order.Addresses{
		Stock: stock, Store: w.db.Orders(), Effects: effects, PayWindow: payWindow, Reader: reader,
	}
	n.refundRequests = &payment.RefundRequests{
		Policy: payment.RefundAuto, Stock: stock, Refunds: w.db.Refunds(), Effects: effects,
	}
	n.refunder = &payment.Refunder{
		Gateway: gateway, Refunds: w.db.Refunds(), Orders: w.db.Orders(), Stock: stock, Effects: effects,
		Durable: func() bool { return true },
	}
	n.payReconciler = &payment.PayReconciler{Payments: n.payments}
	n.reconciler = &recovery.Reconciler{Partitions: 1, Store: w.db, Redis: w.inventory, Effects: effects}
	w.reconcilers = append(w.reconcilers, n.reconciler)
	return n
}

// dead reports whether the process has died.
func (n *node) dead() bool { return n.dying.dead() }

// openPayment opens the payment, as the button Pay does, and loads the payment page of the gateway.
func (n *node) openPayment(o shop.Order) error {
	opened, err := n.payments.Pay(n.ctx, o.User, o.ID, payment.ViaPage)
	if err == nil {
		_, err = n.w.sim.Open(opened.URL)
	}
	return err
}

// setAddress sets the address of the order to homeAddress.
func (n *node) setAddress(o shop.Order) (shop.OrderState, error) {
	return n.addresses.SetAddress(n.ctx, o.User, o.ID, new(homeAddress))
}

// settleNow has the effect of a notification with the current trade state.
func (n *node) settleNow(o shop.Order) error {
	t, err := n.gateway.Query(n.ctx, o.ID)
	if err == nil {
		err = n.payments.Settle(n.ctx, t)
	}
	return err
}

// sweep processes due orders, like the sweeper and the trade closer.
func (n *node) sweep(orders ...shop.ID) error {
	_, err := n.expirer.Due(n.ctx, 0, orders)
	n.closer.RunOnce(n.ctx)
	return err
}

// runJobs runs each background job once.
func (n *node) runJobs(orders ...shop.ID) {
	n.w.makeDue()
	_ = n.recoverPartition(nil)
	_ = n.payReconciler.RunOnce(n.ctx)
	_ = n.refunder.RunOnce(n.ctx)
	_ = n.reconciler.RunOnce(n.ctx)
	_ = n.sweep(orders...)
}
