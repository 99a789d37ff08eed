package money

import (
	"fmt"
	"testing"

	"stampede/app/alipay/sim"
	"stampede/app/shop"
)

// scenario prepares an order with a live process, then runs steps in a process that dies after a number of calls.
type scenario struct {
	prepare     func(w *world, n *node, o shop.Order)
	steps       func(n *node, o shop.Order)
	units       int64 // units of the sale; 0 means 1
	finalStates map[shop.OrderState]bool
}

func stateSet(states ...shop.OrderState) map[shop.OrderState]bool {
	set := make(map[shop.OrderState]bool)
	for _, s := range states {
		set[s] = true
	}
	return set
}

var homeAddress = shop.Address{Name: "李雷", Phone: "13800000000", Text: "北京市海淀区中关村大街 1 号"}

// openPayment opens the payment and loads the payment page of the gateway.
func openPayment(w *world, n *node, o shop.Order) {
	w.retry("the buyer opens the payment", func() error { return n.openPayment(o) })
}

// payAtGateway pays at the gateway; the shop has no notification yet.
func payAtGateway(w *world, n *node, o shop.Order) {
	openPayment(w, n, o)
	w.must(w.sim.Pay(o.ID.String()))
}

// payLate opens the payment and expires the order. By the fault, the buyer pays directly after the gateway has closed
// the trade.
func payLate(w *world, n *node, o shop.Order) {
	openPayment(w, n, o)
	_, err := w.sim.Inject(sim.Fault{Kind: sim.PaidAfterClose, Order: o.ID.String(), Times: 1})
	w.must(err)
	expireOrder(w, n, o)
}

var scenarios = map[string]scenario{
	"pay": {
		steps: func(n *node, o shop.Order) {
			if n.openPayment(o) == nil && n.w.sim.Pay(o.ID.String()) == nil {
				_ = n.settleNow(o)
			}
		},
		finalStates: stateSet(shop.Paid, shop.Expired), // expired if the process died before it opened the payment
	},
	"settle": {
		prepare: payAtGateway, steps: func(n *node, o shop.Order) { _ = n.settleNow(o) },
		finalStates: stateSet(shop.Paid),
	},
	"expire": {
		prepare:     func(w *world, n *node, o shop.Order) { openPayment(w, n, o); w.passDeadline(o.ID) },
		steps:       func(n *node, o shop.Order) { _ = n.sweep(o.ID) },
		finalStates: stateSet(shop.Expired),
	},
	"expire without a payment": {
		prepare:     func(w *world, _ *node, o shop.Order) { w.passDeadline(o.ID) },
		steps:       func(n *node, o shop.Order) { _ = n.sweep(o.ID) },
		finalStates: stateSet(shop.Expired),
	},
	"paid when it expires": {
		prepare:     func(w *world, n *node, o shop.Order) { payAtGateway(w, n, o); w.passDeadline(o.ID) },
		steps:       func(n *node, o shop.Order) { _ = n.sweep(o.ID) },
		finalStates: stateSet(shop.Paid),
	},
	"cancel": {
		prepare:     openPayment,
		steps:       func(n *node, o shop.Order) { _, _ = n.expirer.Cancel(n.ctx, o.User, o.ID) },
		finalStates: stateSet(shop.Cancelled, shop.Expired),
	},
	"late payment, a unit is free": {prepare: payLate, steps: func(n *node, o shop.Order) { _ = n.settleNow(o) }, finalStates: stateSet(shop.Paid)},
	"late payment, sold out": {
		prepare: func(w *world, n *node, o shop.Order) {
			payLate(w, n, o)
			w.order(o.Ref(), o.User+1)
		},
		steps:       func(n *node, o shop.Order) { _ = n.settleNow(o); _ = n.refunder.RunOnce(n.ctx) },
		finalStates: stateSet(shop.Refunded),
	},
	"late payment, limit reached": {
		prepare: func(w *world, n *node, o shop.Order) {
			payLate(w, n, o)
			w.order(o.Ref(), o.User)
		},
		steps:       func(n *node, o shop.Order) { _ = n.settleNow(o); _ = n.refunder.RunOnce(n.ctx) },
		units:       5,
		finalStates: stateSet(shop.Refunded),
	},
	"late payment, the sale has left Redis": {
		prepare: func(w *world, n *node, o shop.Order) {
			payLate(w, n, o)
			w.closeLongAgo(n, o.Sale)
		},
		steps: func(n *node, o shop.Order) {
			if n.settleNow(o) != nil { // the gateway repeats an unacknowledged notification
				n.w.retry("the gateway repeats the notification", func() error { return n.w.node(nil).settleNow(o) })
			}
			_ = n.refunder.RunOnce(n.ctx)
		},
		finalStates: stateSet(shop.Refunded),
	},
	"address of an unpaid order": {
		steps:       func(n *node, o shop.Order) { _, _ = n.setAddress(o) },
		finalStates: stateSet(shop.Expired),
	},
	"address of a paid order": {
		prepare: func(w *world, n *node, o shop.Order) {
			payAtGateway(w, n, o)
			w.retry("the shop settles the payment", func() error { return n.settleNow(o) })
		},
		steps:       func(n *node, o shop.Order) { _, _ = n.setAddress(o) },
		finalStates: stateSet(shop.Paid),
	},
	"refund": {
		prepare: func(w *world, n *node, o shop.Order) {
			payAtGateway(w, n, o)
			w.retry("the shop settles the payment", func() error { return n.settleNow(o) })
		},
		steps: func(n *node, o shop.Order) {
			_, _ = n.refundRequests.RequestRefund(n.ctx, o.User, o.ID, "too big")
			_ = n.refunder.RunOnce(n.ctx)
		},
		finalStates: stateSet(shop.Paid, shop.Refunded), // the request is lost if the process dies before it is stored
	},
}

// P8, P1: in each scenario the process dies after its first, second, … call, until it completes the scenario. Each time
// the next process completes the pending work.
func TestNextProcessCompletesWorkAfterDeath(t *testing.T) {
	t.Parallel()
	for name, sc := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for step := 1; ; step++ {
				dying := &dyingProcess{callsLeft: step}
				w.runScenario(sc, dying)
				if !dying.dead() {
					t.Logf("%d steps", step-1)
					return
				}
			}
		})
	}
}

// runScenario runs the scenario with an order of a new sale.
func (w *world) runScenario(sc scenario, dying *dyingProcess) {
	w.t.Helper()
	sale := w.offer(max(sc.units, 1), 1)
	o := w.order(sale, newID())
	if sc.prepare != nil {
		sc.prepare(w, w.node(nil), o)
	}
	step := dying.callsLeft
	sc.steps(w.node(dying), o)
	if w.read(o.ID).State == shop.Pending {
		w.passDeadline(o.ID)
	}
	w.awaitRest(sale, []shop.ID{o.ID}, func(format string, args ...any) {
		w.t.Errorf("died after step %d: %s", step, fmt.Sprintf(format, args...))
	})
	if row := w.read(o.ID); !sc.finalStates[row.State] {
		w.t.Errorf("died after step %d: the order is %s (%s)", step, row.State, row.Reason)
	}
	w.remove(sale)
}
