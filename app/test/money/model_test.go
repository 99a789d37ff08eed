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
func (l *randomSale) drawOrder(rt *rapid.T) shop.Order {
	if len(l.orders) == 0 {
		rt.Skip("no order exists")
	}
	return rapid.SampledFrom(l.orders).Draw(rt, "order")
}

func (l *randomSale) ids() []shop.ID {
	ids := make([]shop.ID, len(l.orders))
	for i, o := range l.orders {
		ids[i] = o.ID
	}
	return ids
}

// steps are the possible next steps. A step must not fail the test, because faults and deaths can make each one fail.
func (l *randomSale) steps(users []shop.ID) map[string]func(*rapid.T) {
	w := l.w
	return map[string]func(*rapid.T){
		"buy": func(rt *rapid.T) {
			user := rapid.SampledFrom(users).Draw(rt, "user")
			if o, ok := w.buy(l.sale, user, rapid.IntRange(1, 2).Draw(rt, "qty")); ok {
				l.orders = append(l.orders, o)
			}
		},
		"open payment": func(rt *rapid.T) { _ = l.n.openPayment(l.drawOrder(rt)) },
		"pay":          func(rt *rapid.T) { _ = w.sim.Pay(l.drawOrder(rt).ID.String()) },
		"abandon the payment": func(rt *rapid.T) {
			_ = w.sim.Cancel(l.drawOrder(rt).ID.String())
		},
		"query": func(rt *rapid.T) {
			if t, err := l.n.gateway.Query(l.n.ctx, l.drawOrder(rt).ID); err == nil {
				l.trades = append(l.trades, t)
			}
		},
		"settle": func(rt *rapid.T) { // now or later, repeated, in any order
			if len(l.trades) == 0 {
				rt.Skip("the gateway has returned no trade")
			}
			_ = l.n.payments.Settle(l.n.ctx, rapid.SampledFrom(l.trades).Draw(rt, "query"))
		},
		"deadline": func(rt *rapid.T) {
			o := l.drawOrder(rt)
			w.passDeadline(o.ID)
			_ = l.n.sweep(o.ID)
		},
		"cancel": func(rt *rapid.T) {
			o := l.drawOrder(rt)
			_, _ = l.n.expirer.Cancel(l.n.ctx, o.User, o.ID)
		},
		"refund": func(rt *rapid.T) {
			o := l.drawOrder(rt)
			_, _ = l.n.refundRequests.RequestRefund(l.n.ctx, o.User, o.ID, "no reason")
		},
		"duties": func(*rapid.T) { l.n.runJobs() },
		"fault": func(rt *rapid.T) {
			_, err := w.sim.Inject(sim.Fault{
				Kind: rapid.SampledFrom(faultKinds).Draw(rt, "kind"), Method: rapid.SampledFrom(methods).Draw(rt,
					"method"),
				Order: l.drawOrder(rt).ID.String(), Times: 1,
			})
			if err != nil {
				rt.Fatal(err)
			}
		},
		"die soon": func(rt *rapid.T) { // this process dies soon
			l.n = w.node(&dyingProcess{callsLeft: rapid.IntRange(1, 12).Draw(rt, "calls")})
		},
		"another process": func(*rapid.T) { l.n = w.node(nil) },
		"rebuild":         l.rebuild,
		"replay":          l.replay,
	}
}

// rebuild makes Redis lose the partition or all data and recovers it. Orders change at the moments of the recovery. The
// process may die during it.
func (l *randomSale) rebuild(rt *rapid.T) {
	w := l.w
	if rapid.Bool().Draw(rt, "empty") {
		w.must(w.client.FlushDB(w.ctx).Err())
	} else {
		w.forceRebuild()
	}
	_ = l.n.recoverPartition(func(_ string, of shop.ID) {
		if of != 0 && of != l.sale.ID || len(l.orders) == 0 {
			return
		}
		for range rapid.IntRange(0, 2).Draw(rt, "changes") {
			l.change(rt)
		}
	})
	if problem := w.counterMismatch(l.sale); problem != "" && !l.n.dead() {
		rt.Logf("%s", problem)
		rt.Fatal("I3: after a recovery the counters are not the sums of the holds")
	}
}

// change applies a random change to an order.
func (l *randomSale) change(rt *rapid.T) {
	w, o := l.w, l.drawOrder(rt)
	switch rapid.SampledFrom([]string{"cancel", "deadline", "settle", "refund", "run refunds", "replay"}).Draw(rt,
		"change") {
	case "cancel":
		_, _ = l.n.expirer.Cancel(l.n.ctx, o.User, o.ID)
	case "deadline":
		w.passDeadline(o.ID)
		_ = l.n.sweep(o.ID)
	case "settle":
		_ = l.n.settleNow(o)
	case "refund":
		_, _ = l.n.refundRequests.RequestRefund(l.n.ctx, o.User, o.ID, "no reason")
	case "run refunds":
		_ = l.n.refunder.RunOnce(l.n.ctx)
	case "replay":
		_ = l.n.replay(l.w.deadLetterOf(o))
	}
}

// replay replays the dead letter of an order. Most orders are not refused: their replay has no effect.
func (l *randomSale) replay(rt *rapid.T) {
	o := l.drawOrder(rt)
	if row := l.w.read(o.ID); row.State == shop.Pending && row.TradeOpened == 0 &&
		rapid.Bool().Draw(rt, "refuse first") {
		l.w.refuse(row)
	}
	_ = l.n.replay(l.w.deadLetterOf(o))
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
