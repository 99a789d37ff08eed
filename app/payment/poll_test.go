package payment

import (
	"container/heap"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/shop"
)

// openTrades simulates the database of a shop with many open trades, and its gateway. It uses the clock of synctest.
type openTrades struct {
	Stock
	Trades
	Orders
	Gateway
	latency time.Duration // latency of the gateway

	mu          sync.Mutex
	queue       dueTrades
	checkAt     map[shop.ID]shop.Millis
	orders      map[shop.ID]shop.Order
	paidAt      map[shop.ID]time.Time // time of payment at the gateway, which sends no notification
	found       map[shop.ID]time.Time
	lastQuery   map[shop.ID]time.Time
	maxPause    time.Duration // longest pause between two queries of the same trade
	unavailable bool
	running     int
	maxRunning  int // maximum concurrent queries
	queries     int
	overlapping int // queries of a trade that began during another query of the same trade
	inQuery     map[shop.ID]bool
	byNode      [2]int
	claims      int
	schedules   int
}

func newOpenTrades(n int, latency time.Duration) *openTrades {
	b := &openTrades{
		latency: latency, checkAt: make(map[shop.ID]shop.Millis), orders: make(map[shop.ID]shop.Order),
		paidAt: make(map[shop.ID]time.Time),
		found:  make(map[shop.ID]time.Time), lastQuery: make(map[shop.ID]time.Time), inQuery: make(map[shop.ID]bool),
	}
	now := time.Now()
	for i := range n {
		id := shop.ID(i + 1)
		b.orders[id] = shop.Order{ID: id, State: shop.Pending, TradeOpened: shop.MillisOf(now.Add(-time.Minute))}
		b.schedule(id, shop.MillisOf(now))
		b.lastQuery[id] = now
	}
	return b
}

func (ot *openTrades) Now(context.Context) (shop.Millis, error) {
	return shop.MillisOf(time.Now()), nil
}

func (ot *openTrades) Unresolved(context.Context, shop.Millis, int, int) ([]ReceivedPayment, error) {
	return nil, nil
}

func (ot *openTrades) ClaimTrades(_ context.Context, now, until shop.Millis, limit int) ([]OpenedTrade, error) {
	ot.mu.Lock()
	defer ot.mu.Unlock()
	ot.claims++
	var due []OpenedTrade
	for len(due) < limit && len(ot.queue) > 0 && ot.queue[0].at <= now {
		next := heap.Pop(&ot.queue).(dueTrade)
		if ot.checkAt[next.order] != next.at {
			continue // rescheduled
		}
		opened := ot.orders[next.order].TradeOpened
		due = append(due, OpenedTrade{
			Order: next.order, OpenedAt: opened, ExpiresAt: opened.Add(time.Hour), DueAt: next.at,
		})
		ot.schedule(next.order, until)
	}
	return due, nil
}

// schedule sets when the trade is due; 0: never.
func (ot *openTrades) schedule(id shop.ID, at shop.Millis) {
	ot.checkAt[id] = at
	if at != 0 {
		heap.Push(&ot.queue, dueTrade{at, id})
	}
}

// dueTrade is the due time of a trade; it is obsolete after rescheduling.
type dueTrade struct {
	at    shop.Millis
	order shop.ID
}

// dueTrades is a heap of due times, the earliest first.
type dueTrades []dueTrade

func (d dueTrades) Len() int { return len(d) }

func (d dueTrades) Less(i, j int) bool { return d[i].at < d[j].at }

func (d dueTrades) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

func (d *dueTrades) Push(v any) { *d = append(*d, v.(dueTrade)) }

func (d *dueTrades) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

func (ot *openTrades) OrdersByID(_ context.Context, ids []shop.ID) ([]shop.Order, error) {
	ot.mu.Lock()
	defer ot.mu.Unlock()
	rows := make([]shop.Order, len(ids))
	for i, id := range ids {
		rows[i] = ot.orders[id]
	}
	return rows, nil
}

func (ot *openTrades) CheckTrades(_ context.Context, _ shop.Millis, next map[shop.ID]shop.Millis) error {
	ot.mu.Lock()
	defer ot.mu.Unlock()
	ot.schedules++
	for id, at := range next {
		if ot.checkAt[id] != 0 {
			ot.schedule(id, at)
		}
	}
	return nil
}

func (ot *openTrades) Query(ctx context.Context, id shop.ID) (Trade, error) {
	ot.mu.Lock()
	ot.running, ot.queries = ot.running+1, ot.queries+1
	ot.maxRunning = max(ot.maxRunning, ot.running)
	if ot.inQuery[id] {
		ot.overlapping++
	}
	ot.inQuery[id] = true
	down := ot.unavailable
	ot.mu.Unlock()
	defer func() {
		ot.mu.Lock()
		defer ot.mu.Unlock()
		ot.running--
		ot.inQuery[id] = false
	}()
	select {
	case <-ctx.Done():
		return Trade{}, shop.ErrTransient
	case <-time.After(ot.latency):
	}
	ot.mu.Lock()
	defer ot.mu.Unlock()
	if down {
		return Trade{}, shop.ErrTransient
	}
	now := time.Now()
	ot.maxPause = max(ot.maxPause, now.Sub(ot.lastQuery[id]))
	ot.lastQuery[id] = now
	if paid := ot.paidAt[id]; !paid.IsZero() && !paid.After(now.Add(-ot.latency)) {
		return Trade{Order: id, No: "T", State: TradePaid}, nil
	}
	return Trade{Order: id, No: "T", State: TradeWaiting}, nil
}

func (ot *openTrades) Receive(_ context.Context, t Trade, _ shop.Millis) (shop.Order, Outcome, error) {
	ot.mu.Lock()
	defer ot.mu.Unlock()
	ot.found[t.Order], ot.checkAt[t.Order] = time.Now(), 0
	o := ot.orders[t.Order]
	o.State = shop.Paid
	ot.orders[t.Order] = o
	return o, OutcomeTaken, nil
}

// runReconcilers runs one reconciler per node while the function `during` runs, each with at most perSecond queries per
// second.
func (ot *openTrades) runReconcilers(t *testing.T, nodes, perSecond int, during func()) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for n := range nodes {
		payments := &PaymentService{Gateway: ot, Stock: ot, Trades: ot, Orders: ot}
		r := &PayReconciler{Payments: payments, Pace: (&pacer{
			pause:  time.Second / time.Duration(perSecond),
			onCall: func() { ot.mu.Lock(); ot.byNode[n]++; ot.mu.Unlock() },
		}).wait}
		running.Go(func() { _ = r.Run(ctx) })
	}
	during()
	stop()
	running.Wait()
}

// maxWait returns the longest time that a trade has waited for its query.
func (ot *openTrades) maxWait() time.Duration {
	ot.mu.Lock()
	defer ot.mu.Unlock()
	wait := ot.maxPause
	for id, at := range ot.lastQuery {
		if ot.checkAt[id] != 0 {
			wait = max(wait, time.Since(at))
		}
	}
	return wait
}

// pacer admits one call per pause, like a rate limiter.
type pacer struct {
	mu     sync.Mutex
	pause  time.Duration
	next   time.Time
	onCall func()
}

func (p *pacer) wait(ctx context.Context) error {
	p.mu.Lock()
	at := p.next
	if now := time.Now(); at.Before(now) {
		at = now
	}
	p.next = at.Add(p.pause)
	p.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(at)):
		p.onCall()
		return nil
	}
}

// P8: 20,000 trades are open and due, and the gateway replies after 100 ms. Each trade is queried within a minute at
// the configured rate, so that a payment without a notification is found within a minute.
func TestEveryOpenTradeIsQueriedWithinAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perSecond = 500 // the default of STAMPEDE_ALIPAY_QUERY_RATE
		b := newOpenTrades(20_000, 100*time.Millisecond)
		began := time.Now()
		for i := range 400 { // paid at any time within a minute
			b.paidAt[shop.ID(50*i+1)] = began.Add(time.Duration(i) * 150 * time.Millisecond)
		}
		b.runReconcilers(t, 1, perSecond, func() { time.Sleep(2 * time.Minute) })
		if wait := b.maxWait(); wait > time.Minute {
			t.Errorf("a trade was not queried for %v, want at most a minute", wait)
		}
		late := time.Duration(0)
		for id, paid := range b.paidAt {
			if b.found[id].IsZero() {
				t.Fatalf("the payment of order %d was never found", id)
			}
			late = max(late, b.found[id].Sub(paid))
		}
		if late > time.Minute {
			t.Errorf("a payment was found after %v, want at most a minute", late)
		}
		if allowed := perSecond * int(time.Since(began).Seconds()); b.queries > allowed+perSecond ||
			b.maxRunning > maxQueries ||
			b.overlapping > 0 {
			t.Errorf("got %d queries, want at most %d; %d at the same time, want at most %d; %d overlapping, want 0", b.queries,
				allowed+perSecond, b.maxRunning, maxQueries, b.overlapping)
		}
		if perClaim := b.queries / b.claims; perClaim < 20 || b.schedules > b.claims {
			t.Errorf("got %d queries in %d claims with %d schedules, want at least 20 queries per claim and at most one "+
				"schedule per claim", b.queries, b.claims, b.schedules)
		}
		t.Logf("not queried for at most %v, found after at most %v; %d queries in %v, at most %d at the same time, %d claims",
			b.maxWait(), late, b.queries, time.Since(began), b.maxRunning, b.claims)
	})
}

// An unavailable gateway gets a few queries per second, however large the backlog is, and queries do not accumulate.
// After it recovers, all trades are queried within a minute.
func TestUnavailableGatewayGetsFewQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOpenTrades(2_000, 100*time.Millisecond)
		b.runReconcilers(t, 1, 50, func() {
			time.Sleep(10 * time.Second)
			b.mu.Lock()
			b.unavailable = true
			b.mu.Unlock()
			time.Sleep(time.Minute) // let running queries end and the pauses grow
			b.mu.Lock()
			before := b.queries
			b.mu.Unlock()
			time.Sleep(5 * time.Minute)
			b.mu.Lock()
			if perSecond := float64(b.queries-before) / 300; perSecond > 5 || perSecond < 0.5 {
				t.Errorf("the gateway gets %v queries per second, want 0.5 to 5", perSecond)
			}
			b.unavailable, b.maxPause = false, 0
			for id := range b.lastQuery {
				b.lastQuery[id] = time.Now()
			}
			b.mu.Unlock()
			time.Sleep(2 * time.Minute)
			if wait := b.maxWait(); wait > time.Minute {
				t.Errorf("after the recovery a trade was not queried for %v, want at most a minute", wait)
			}
		})
	})
}

// With a stalled gateway the number of running queries never exceeds maxQueries, and no query exceeds its lease.
func TestStalledGatewayLimitsRunningQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOpenTrades(5_000, time.Hour)
		b.runReconcilers(t, 1, 500, func() { time.Sleep(10 * time.Minute) })
		if b.maxRunning > maxQueries || b.overlapping > 0 || b.queries < 50 {
			t.Errorf("got %d queries at the same time, want at most %d; %d overlapping, want 0; %d in total, want at least 50",
				b.maxRunning, maxQueries, b.overlapping, b.queries)
		}
	})
}

// Two nodes share the trades: no trade is queried by both nodes at the same time, and two nodes query twice as many
// trades as one node.
func TestNodesShareOpenTrades(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOpenTrades(4_000, 100*time.Millisecond)
		b.runReconcilers(t, 2, 50, func() { time.Sleep(2 * time.Minute) })
		if wait := b.maxWait(); wait > time.Minute || b.overlapping > 0 {
			t.Errorf("a trade was not queried for %v, want at most a minute; %d overlapping queries, want 0", wait, b.overlapping)
		}
		if fewer := min(b.byNode[0], b.byNode[1]); fewer < b.queries/3 {
			t.Errorf("one node sent %d of %d queries, want at least a third", fewer, b.queries)
		}
	})
}

// unresolvedStore has late payments. The first `failing` payments cannot be resolved until repaired is true.
type unresolvedStore struct {
	Trades
	Orders
	Stock
	failing, resolvable int
	repaired            bool
	resolved            map[shop.ID]bool
}

func (u *unresolvedStore) Now(context.Context) (shop.Millis, error) { return 1_000_000, nil }

func (u *unresolvedStore) Unresolved(_ context.Context, _ shop.Millis, skip, limit int) ([]ReceivedPayment, error) {
	var list []ReceivedPayment
	for i := 1; i <= u.failing+u.resolvable; i++ {
		if !u.resolved[shop.ID(i)] {
			list = append(list, ReceivedPayment{Order: shop.ID(i)})
		}
	}
	list = list[min(skip, len(list)):]
	return list[:min(limit, len(list))], nil
}

func (u *unresolvedStore) Order(_ context.Context, id shop.ID) (shop.Order, error) {
	if int(id) <= u.failing && !u.repaired {
		return shop.Order{}, shop.ErrTransient
	}
	return shop.Order{ID: id, State: shop.Refunded, CancelledAt: 1}, nil
}

func (u *unresolvedStore) Resolve(_ context.Context, id shop.ID, _ Outcome) error {
	u.resolved[id] = true
	return nil
}

// P8: late payments that fail do not block later payments, and are resolved after the repair.
func TestUnresolvablePaymentsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	b := &unresolvedStore{failing: 3*lateBatch + 7, resolvable: 50, resolved: make(map[shop.ID]bool)}
	r := &PayReconciler{Payments: &PaymentService{Stock: b, Trades: b, Orders: b}}
	for range 4 {
		_ = r.resolveLate(t.Context())
	}
	if len(b.resolved) != b.resolvable {
		t.Errorf("got %d resolved payments, want %d", len(b.resolved), b.resolvable)
	}
	b.repaired = true
	for range 5 {
		_ = r.resolveLate(t.Context())
	}
	if len(b.resolved) != b.resolvable+3*lateBatch+7 {
		t.Errorf("after the repair: got %d resolved payments, want %d", len(b.resolved), b.resolvable+3*lateBatch+7)
	}
}
