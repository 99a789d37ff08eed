package money

import (
	"testing"

	"pgregory.net/rapid"

	"stampede/app/alipay/sim"
	"stampede/app/payment"
	"stampede/app/shop"
)

// methods are the gateway calls that can fail.
var methods = []string{
	"alipay.trade.query", "alipay.trade.close", "alipay.trade.refund", "alipay.trade.fastpay.refund.query",
}

// faultKinds are the faults of calls, two of them only of closes. Step notify simulates late, repeated and lost
// notifications.
var faultKinds = []sim.Kind{
	sim.PaidAfterClose, sim.PaidBeforeClose, sim.ErrorAfterSuccess, sim.Lost, sim.Garbage,
	sim.InvalidSignature, sim.Down,
}

// randomSale is one sale with its orders, and the process that serves it.
type randomSale struct {
	w      *world
	n      *node
	sale   shop.SaleRef
	orders []shop.Order
	trades []payment.Trade // earlier trade states of the gateway
}

// drawOrder draws an order. If no order exists, it skips the step.
func (r *randomSale) drawOrder(rt *rapid.T) shop.Order {
	if len(r.orders) == 0 {
		rt.Skip("no order exists")
	}
	return rapid.SampledFrom(r.orders).Draw(rt, "order")
}

func (r *randomSale) ids() []shop.ID {
	ids := make([]shop.ID, len(r.orders))
	for i, o := range r.orders {
		ids[i] = o.ID
	}
	return ids
}

// steps are the possible next steps. A step must not fail the test, because faults and deaths can make each one fail.
func (r *randomSale) steps(users []shop.ID) map[string]func(*rapid.T) {
	w := r.w
	return map[string]func(*rapid.T){
		"buy": func(rt *rapid.T) {
			user := rapid.SampledFrom(users).Draw(rt, "user")
			if o, ok := w.buy(r.sale, user, rapid.IntRange(1, 2).Draw(rt, "qty")); ok {
				r.orders = append(r.orders, o)
			}
		},
		"open payment": func(rt *rapid.T) { _ = r.n.openPayment(r.drawOrder(rt)) },
		"pay":          func(rt *rapid.T) { _ = w.sim.Pay(r.drawOrder(rt).ID.String()) },
		"abandon the payment": func(rt *rapid.T) {
			_ = w.sim.Cancel(r.drawOrder(rt).ID.String())
		},
		"query": func(rt *rapid.T) {
			if t, err := r.n.gateway.Query(r.n.ctx, r.drawOrder(rt).ID); err == nil {
				r.trades = append(r.trades, t)
			}
		},
		"settle": func(rt *rapid.T) { // now or later, repeated, in any order
			if len(r.trades) == 0 {
				rt.Skip("the gateway has returned no trade")
			}
			_ = r.n.payments.Settle(r.n.ctx, rapid.SampledFrom(r.trades).Draw(rt, "query"))
		},
		"deadline": func(rt *rapid.T) {
			o := r.drawOrder(rt)
			w.passDeadline(o.ID)
			_ = r.n.sweep(o.ID)
		},
		"cancel": func(rt *rapid.T) {
			o := r.drawOrder(rt)
			_, _ = r.n.expirer.Cancel(r.n.ctx, o.User, o.ID)
		},
		"refund": func(rt *rapid.T) {
			o := r.drawOrder(rt)
			_, _ = r.n.refundRequests.RequestRefund(r.n.ctx, o.User, o.ID, "no reason")
		},
		"duties": func(*rapid.T) { r.n.runJobs() },
		"fault": func(rt *rapid.T) {
			_, err := w.sim.Inject(sim.Fault{
				Kind: rapid.SampledFrom(faultKinds).Draw(rt, "kind"), Method: rapid.SampledFrom(methods).Draw(rt,
					"method"),
				Order: r.drawOrder(rt).ID.String(), Times: 1,
			})
			if err != nil {
				rt.Fatal(err)
			}
		},
		"die soon": func(rt *rapid.T) { // this process dies soon
			r.n = w.node(&dyingProcess{callsLeft: rapid.IntRange(1, 12).Draw(rt, "calls")})
		},
		"another process": func(*rapid.T) { r.n = w.node(nil) },
		"rebuild":         r.rebuild,
		"replay":          r.replay,
	}
}

// rebuild makes Redis lose the partition or all data and recovers it. Orders change at the moments of the recovery. The
// process may die during it.
func (r *randomSale) rebuild(rt *rapid.T) {
	w := r.w
	if rapid.Bool().Draw(rt, "empty") {
		w.must(w.client.FlushDB(w.ctx).Err())
	} else {
		w.forceRebuild()
	}
	_ = r.n.recoverPartition(func(_ string, of shop.ID) {
		if of != 0 && of != r.sale.ID || len(r.orders) == 0 {
			return
		}
		for range rapid.IntRange(0, 2).Draw(rt, "changes") {
			r.change(rt)
		}
	})
	if problem := w.counterMismatch(r.sale); problem != "" && !r.n.dead() {
		rt.Logf("%s", problem)
		rt.Fatal("I3: after a recovery the counters are not the sums of the holds")
	}
}

// change applies a random change to an order.
func (r *randomSale) change(rt *rapid.T) {
	w, o := r.w, r.drawOrder(rt)
	switch rapid.SampledFrom([]string{"cancel", "deadline", "settle", "refund", "run refunds", "replay"}).Draw(rt,
		"change") {
	case "cancel":
		_, _ = r.n.expirer.Cancel(r.n.ctx, o.User, o.ID)
	case "deadline":
		w.passDeadline(o.ID)
		_ = r.n.sweep(o.ID)
	case "settle":
		_ = r.n.settleNow(o)
	case "refund":
		_, _ = r.n.refundRequests.RequestRefund(r.n.ctx, o.User, o.ID, "no reason")
	case "run refunds":
		_ = r.n.refunder.RunOnce(r.n.ctx)
	case "replay":
		_ = r.n.replay(r.w.deadLetterOf(o))
	}
}

// replay replays the dead letter of an order. Most orders are not refused: their replay has no effect.
func (r *randomSale) replay(rt *rapid.T) {
	o := r.drawOrder(rt)
	if row := r.w.read(o.ID); row.State == shop.Pending && row.TradeOpened == 0 &&
		rapid.Bool().Draw(rt, "refuse first") {
		r.w.refuse(row)
	}
	_ = r.n.replay(r.w.deadLetterOf(o))
}

// P8, P1: after any sequence of steps, faults and deaths, every fen that the gateway holds belongs to exactly one paid
// order, and the stock equation holds.
func TestRandomStepsAndDeathsLoseNoMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	users := []shop.ID{newID(), newID(), newID()}
	rapid.Check(t, func(rt *rapid.T) {
		w.must(w.node(nil).recoverPartition(nil)) // a failed sequence may leave the partition paused
		l := &randomSale{w: w, n: w.node(nil), sale: w.offer(rapid.Int64Range(1, 4).Draw(rt, "units"), 2)}
		rt.Repeat(l.steps(users))
		for _, o := range l.orders {
			w.passDeadline(o.ID)
		}
		w.awaitRest(l.sale, l.ids(), rt.Fatalf)
		w.remove(l.sale)
	})
}
