package money

import (
	"fmt"
	"testing"

	"stampede/app/alipay/sim"
	"stampede/app/shop"
)

// life is the story of one order: a preparation, and the steps of the process that dies.
type life struct {
	before func(w *world, n *node, o shop.Order)
	then   func(n *node, o shop.Order)
	units  int64 // units of the sale; 0 means 1
	ends   map[shop.OrderState]bool
}

func oneOf(states ...shop.OrderState) map[shop.OrderState]bool {
	set := make(map[shop.OrderState]bool)
	for _, s := range states {
		set[s] = true
	}
	return set
}

// pressed opens the payment and visits the cashier.
func pressed(w *world, n *node, o shop.Order) {
	w.until("the buyer opens the payment", func() error { return n.press(o) })
}

// paid pays at the gateway; the shop has no notification yet.
func paid(w *world, n *node, o shop.Order) {
	pressed(w, n, o)
	w.must(w.sim.Pay(o.ID.String()))
}

// late pays after the order has expired.
func late(w *world, n *node, o shop.Order) {
	pressed(w, n, o)
	_, err := w.sim.Inject(sim.Fault{Kind: sim.PaidAfterClose, Order: o.ID.String(), Times: 1})
	w.must(err)
	w.age(o.ID)
	w.until("the order expires", func() error {
		err := n.sweep(o.ID)
		if row := w.read(o.ID); err == nil && row.State != shop.Expired {
			err = fmt.Errorf("the order is %s", row.State)
		}
		return err
	})
}

var lives = map[string]life{
	"pay": {
		then: func(n *node, o shop.Order) {
			if n.press(o) == nil && n.w.sim.Pay(o.ID.String()) == nil {
				_ = n.settleNow(o)
			}
		},
		ends: oneOf(shop.Paid, shop.Expired), // without an opened payment there is no money
	},
	"settle": {before: paid, then: func(n *node, o shop.Order) { _ = n.settleNow(o) }, ends: oneOf(shop.Paid)},
	"expire": {
		before: func(w *world, n *node, o shop.Order) { pressed(w, n, o); w.age(o.ID) },
		then:   func(n *node, o shop.Order) { _ = n.sweep(o.ID) },
		ends:   oneOf(shop.Expired),
	},
	"expire without a payment": {
		before: func(w *world, _ *node, o shop.Order) { w.age(o.ID) },
		then:   func(n *node, o shop.Order) { _ = n.sweep(o.ID) },
		ends:   oneOf(shop.Expired),
	},
	"paid when it expires": {
		before: func(w *world, n *node, o shop.Order) { paid(w, n, o); w.age(o.ID) },
		then:   func(n *node, o shop.Order) { _ = n.sweep(o.ID) },
		ends:   oneOf(shop.Paid),
	},
	"cancel": {
		before: pressed,
		then:   func(n *node, o shop.Order) { _, _ = n.expirer.Cancel(n.ctx, o.User, o.ID) },
		ends:   oneOf(shop.Cancelled, shop.Expired),
	},
	"late, a unit is free": {before: late, then: func(n *node, o shop.Order) { _ = n.settleNow(o) }, ends: oneOf(shop.Paid)},
	"late, sold out": {
		before: func(w *world, n *node, o shop.Order) {
			late(w, n, o)
			w.order(o.Ref(), o.User+1)
		},
		then: func(n *node, o shop.Order) { _ = n.settleNow(o); _ = n.refunder.RunOnce(n.ctx) },
		ends: oneOf(shop.Refunded),
	},
	"late, limit reached": {
		before: func(w *world, n *node, o shop.Order) {
			late(w, n, o)
			w.order(o.Ref(), o.User)
		},
		then:  func(n *node, o shop.Order) { _ = n.settleNow(o); _ = n.refunder.RunOnce(n.ctx) },
		units: 5,
		ends:  oneOf(shop.Refunded),
	},
	"late, archived": {
		before: func(w *world, n *node, o shop.Order) {
			late(w, n, o)
			w.archive(n, o)
		},
		then: func(n *node, o shop.Order) {
			if n.settleNow(o) != nil { // the gateway repeats an unacknowledged notification
				n.w.until("the gateway repeats the notification", func() error { return n.w.node(nil).settleNow(o) })
			}
			_ = n.refunder.RunOnce(n.ctx)
		},
		ends: oneOf(shop.Refunded),
	},
	"refund": {
		before: func(w *world, n *node, o shop.Order) {
			paid(w, n, o)
			w.until("the shop settles the payment", func() error { return n.settleNow(o) })
		},
		then: func(n *node, o shop.Order) {
			_, _ = n.refundRequests.AskRefund(n.ctx, o.User, o.ID, "too big")
			_ = n.refunder.RunOnce(n.ctx)
		},
		ends: oneOf(shop.Paid, shop.Refunded), // the request is lost if the process dies before it is stored
	},
}

// P8, P1: in each story the process dies after its first, second, … call, until it completes the story. Each time the
// next process completes the pending work.
func TestDeathAfterEachStep(t *testing.T) {
	t.Parallel()
	for name, l := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for step := 1; ; step++ {
				m := &mortal{left: step}
				w.live(l, m)
				if !m.dead() {
					t.Logf("%d steps", step-1)
					return
				}
			}
		})
	}
}

// live runs the story with an order of a new sale.
func (w *world) live(l life, m *mortal) {
	w.t.Helper()
	sale := w.offer(max(l.units, 1), 1)
	o := w.order(sale, newID())
	if l.before != nil {
		l.before(w, w.node(nil), o)
	}
	step := m.left
	l.then(w.node(m), o)
	if w.read(o.ID).State == shop.Pending {
		w.age(o.ID)
	}
	w.rest(sale, []shop.ID{o.ID}, func(format string, args ...any) {
		w.t.Errorf("died after step %d: %s", step, fmt.Sprintf(format, args...))
	})
	if row := w.read(o.ID); !l.ends[row.State] {
		w.t.Errorf("died after step %d: the order is %s (%s)", step, row.State, row.Reason)
	}
	w.remove(sale)
}
