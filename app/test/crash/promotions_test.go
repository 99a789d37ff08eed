//go:build crashpoints

package crash

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/alipay/sim"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// The kinds of replication. Buys wait for the replica of Redis only with the kind `replicated`
// (STAMPEDE_REDIS_REPLICAS=1).
const (
	asynchronous, semiSync   = "asynchronous", "semi-sync"
	unreplicated, replicated = "unreplicated", "replicated"
)

// P1–P4, P8, I8: a primary of MySQL or Redis dies during buys, payments, late payments and refunds, and its replica,
// which lags, is promoted. Afterwards every reply holds, except for losses that the kind allows. Both stores agree, and
// the gateway keeps only the money of sold orders. The kinds of one store run one after the other, so that at most two
// shops run at a time.
func TestRandomPromotionsKeepStoresConsistent(t *testing.T) {
	t.Parallel()
	for store, kinds := range map[string][]string{
		"mysql": {asynchronous, semiSync}, "redis": {unreplicated, replicated},
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			for n := range len(kinds) * *promotionCount {
				kind := kinds[n%len(kinds)]
				t.Run(fmt.Sprintf("%s-%d", kind, n/len(kinds)), func(t *testing.T) { promoteReplica(t, kind) })
			}
		})
	}
}

func promoteReplica(t *testing.T, kind string) {
	p := openReplicated(t, kind)
	p.offer(2000, 1000, p.rng.IntN(partitions))
	p.offer(20, 1000, p.rng.IntN(partitions)) // often sold out when late payments arrive
	p.addBuyers(10)
	p.fleet.add(slices.Repeat([]string{"api,worker,sweeper"}, 1+p.rng.IntN(2))...)
	p.fleet.enter()
	tr := p.fleet.trade(behaviour{cancelPercent: 15, maxPauseMS: 400, after: p.payOrAbandon})
	promotions := map[bool]int{false: 1, true: 1 + p.rng.IntN(2)}[p.follower != nil] // a promoted Redis gets a replica
	for n := range promotions {
		p.awaitAccepted(p.memory.acceptedCount() + 40 + p.rng.IntN(60))
		expired := fmt.Sprintf("SELECT COUNT(*) > %d FROM orders WHERE state = 'expired'", p.rng.IntN(20))
		kit.Eventually(t, settleTimeout, func() (bool, string) { return p.count(expired) == 1, "no deadline has passed" })
		p.promote()
		kit.Eventually(t, settleTimeout, func() (bool, string) {
			p.fleet.requireHealthy()
			passes := p.fleet.metric("stampede_recovery_passes_total")
			return passes >= float64((n+1)*partitions), fmt.Sprintf("%v partitions recovered", passes)
		})
		p.awaitAccepted(p.memory.acceptedCount() + 40)
	}
	tr.end()
	p.fleet.reconnectAll()
	kit.Eventually(t, settleTimeout, func() (bool, string) { return p.payLate() == 0, "orders for late payments have not ended" })
	kit.Eventually(t, settleTimeout,
		func() (bool, string) { pending := p.remainingMoneyWork(); return pending == "", pending })
	settled := p.settle()
	kit.Eventually(t, settleTimeout,
		func() (bool, string) { problem := p.moneyProblem(p.sim); return problem == "", problem })
	f := &p.fleet
	written, ended := f.metric("stampede_recovery_orders_total"), f.metric("stampede_recovery_ended_total")
	if kind == semiSync && ended > 0 {
		t.Errorf("the recovery ended %v orders, want 0: no commit was lost", ended)
	}
	p.awaitRest(f.with("api")[0].node, fmt.Sprintf("%d promoted, %v written, %v ended, %d settled,", promotions,
		written, ended, settled))
}

// promotion is a shop with a replica of one of its stores.
type promotion struct {
	*world
	fleet fleet
	kind  string
	sim   *sim.Simulator

	wire, link       *kit.Proxy         // proxies to the primary, and from the replica of Redis to its master
	primary, replica *kit.MariaDBServer // nil if Redis is replicated
	master, follower *kit.RedisServer   // nil if MySQL is replicated

	mu                       sync.Mutex
	latePayers, refundPayers []*payer // pay after the order ended; request a refund after the payment
}

func openReplicated(t *testing.T, kind string) *promotion {
	gateway, settings := newGateway(t)
	p := &promotion{kind: kind, sim: gateway}
	settings = append(settings, "STAMPEDE_PAY_WINDOW=8s", "STAMPEDE_REDIS_REPLICAS="+
		map[bool]string{false: "0", true: "1"}[kind == replicated])
	if kind == asynchronous || kind == semiSync {
		p.primary, p.replica = kit.StartReplicated(t, kind == semiSync)
		p.wire = kit.NewProxy(t, p.primary.Database())
		p.world = openWorld(t, kit.Redis(t), p.wire.URL, settings...)
	} else {
		p.master = kit.StartRedis(t, kit.RedisOptions{Durable: true})
		p.wire = kit.NewProxy(t, p.master.URL)
		p.startFollower(t)
		p.world = openWorld(t, p.wire.URL, kit.MySQL(t), settings...)
	}
	p.allow, p.fleet.w = p.allowLosses, p.world
	return p
}

// startFollower starts a new replica of Redis.
func (p *promotion) startFollower(t *testing.T) {
	t.Helper()
	p.follower, p.link = kit.StartRedis(t, kit.RedisOptions{Durable: true}), kit.NewProxy(t, p.master.URL)
	p.follower.FollowVia(p.master, p.link)
}

// promote lets the replica fall behind, kills the primary and promotes the replica.
func (p *promotion) promote() {
	p.t.Helper()
	lag := time.Duration(p.rng.IntN(800)) * time.Millisecond
	p.t.Logf("the replica is %v behind", lag)
	if p.follower != nil {
		p.link.Stall()
		time.Sleep(lag)
		p.master.Kill()
		p.master = p.follower
		p.master.Promote()
		p.startFollower(p.t)
		p.wire.Redirect(p.master.URL)
		return
	}
	p.replica.StopApplying()
	if p.kind == semiSync && p.rng.IntN(2) == 0 {
		p.replica.StopReceiving() // no commit is confirmed afterwards
	}
	time.Sleep(lag)
	p.primary.Kill()
	var received []Received
	if p.kind == semiSync {
		p.replica.ApplyAll()
		received = p.memory.copy().Received
	}
	p.replica.Promote()
	p.wire.Redirect(p.replica.DSN)
	for _, h := range received {
		if p.count("SELECT COUNT(*) FROM orders WHERE id = ? AND rev >= ?", h.Order, h.Rev) < 1 {
			p.t.Errorf("the promoted replica does not have order %s as %s (rev %d)", h.Order, h.State, h.Rev)
		}
	}
}

// payOrAbandon chooses at random how a new order continues: its buyer only opens a payment, pays late, pays, or pays
// and requests a refund.
func (p *promotion) payOrAbandon(b *buyer, op Op) {
	p.payLate()
	p.retry(&p.refundPayers, func(who *payer) bool {
		return p.post(who, "refund", map[string]any{"reason": "too large"}, nil) == nil
	})
	who, choice := &payer{w: p.world, gateway: p.sim, token: b.token, order: op.Order}, b.rng.IntN(6)
	var payment struct{ URL string }
	for try := 0; p.post(who, "pay", map[string]any{"via": "page"}, &payment) != nil; try++ { // there may be no row yet
		if try == 20 {
			return
		}
		b.phones[0].socket().Pause(100)
	}
	if _, err := p.sim.Open(payment.URL); choice < 2 || err != nil {
		return
	}
	if choice == 2 {
		p.enqueue(&p.latePayers, who)
	} else if p.sim.Pay(op.Order.String()) == nil {
		p.memory.addOp(Op{Kind: Pay, Order: op.Order, Outcome: OK})
		if choice == 3 {
			p.enqueue(&p.refundPayers, who)
		}
	}
}

func (p *promotion) post(who *payer, action string, body, into any) error {
	return who.post(p.fleet.with("api")[0].node, "/api/v1/orders/"+who.order.String()+"/"+action, body, into)
}

func (p *promotion) enqueue(list *[]*payer, who ...*payer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, who...)
}

// retry calls `done` for each payer of a list, removes the payers for which it returns true, and returns the number of
// remaining payers.
func (p *promotion) retry(list *[]*payer, done func(who *payer) bool) int {
	p.mu.Lock()
	left := *list
	*list = nil
	p.mu.Unlock()
	left = slices.DeleteFunc(left, done)
	p.enqueue(list, left...)
	return len(left)
}

func (p *promotion) payLate() (left int) {
	return p.retry(&p.latePayers, func(who *payer) bool {
		row, err := p.store.Orders().Order(p.t.Context(), who.order)
		ended := err == nil && (row.State == shop.Expired || row.State == shop.Cancelled)
		if ended && p.sim.PayLate(who.order.String()) == nil {
			p.memory.addOp(Op{Kind: Pay, Order: who.order, Outcome: OK})
		}
		return ended
	})
}

// settle runs `stampede recover` on the shop, which must change nothing. It settles the listed problems as an operator
// does and returns their number.
func (p *promotion) settle() int {
	p.t.Helper()
	settings := append(slices.Clone(p.settings), "STAMPEDE_JWT_SECRET="+secret)
	out, code := kit.RunProgram(p.t, binary, settings, "recover", "--json")
	var r recovery.Report
	_, text, _ := strings.Cut("\n"+out, "\n{")
	err := json.NewDecoder(strings.NewReader("{" + text)).Decode(&r)
	if want := 3 * min(len(r.Problems), 1); err != nil || code != want || r.Written+r.Ended+r.Imported > 0 {
		p.t.Fatalf("recover at rest exits %d, want %d and no change: %v\n%s", code, want, err, out)
	}
	for _, problem := range r.Problems {
		how := map[bool]string{false: "--end", true: "--refund"}[strings.Contains(problem.Text, "decide on its refund")]
		out, code := kit.RunProgram(p.t, binary, settings, "recover", "settle", problem.Order.String(), how)
		p.t.Logf("order %s: %s; %s exits %d: %s", problem.Order, problem.Text, how, code, out)
	}
	return len(r.Problems)
}

// allowLosses removes the losses that the kind allows. A promoted database starts another history, so devices get a
// reset. Redis may lose orders that only its master had, with their tickets; such orders were accepted only if buys do
// not wait for a replica. Asynchronous MySQL may lose a refund (also of a late payment) and the final state of an
// order.
func (p *promotion) allowLosses(h *History, f *Final) {
	if p.replica != nil {
		h.Resets = nil
	}
	rows := newCheck(*h, *f).byID
	for i := range f.Sales {
		if s := &f.Sales[i]; p.follower != nil && s.Tickets == s.Done {
			s.Tickets, s.Done = 0, 0
		}
	}
	h.Ops = slices.DeleteFunc(h.Ops, func(op Op) bool {
		row := rows[op.Order]
		return p.kind == unreplicated && op.Order != 0 && row == nil ||
			p.kind == asynchronous && op.Kind == Cancel && row != nil && row.Ended != 0
	})
	h.Received = slices.DeleteFunc(h.Received, func(e Received) bool {
		row, refund := rows[e.Order], e.State == shop.Refunding || e.State == shop.Refunded
		return p.kind == asynchronous && refund && row != nil && row.Rev < e.Rev
	})
}
