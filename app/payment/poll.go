package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"stampede/app/shop"
)

const (
	reconcileEvery = time.Second
	lateBatch      = 200 // late payments per round
	// queryLease is how long a node owns the trades that it claimed. It is longer than queryTimeout plus the wait
	// for the pace.
	queryLease = 30 * time.Second
	// queryTimeout is the time limit of the gateway calls for one trade: a query, and possibly a close.
	queryTimeout = 12 * time.Second
	// The pauses between two queries of a trade grow with its age. A new payment is found soon, and a lost notification
	// is found within a minute.
	firstPayPause, lastPayPause = 5 * time.Second, 30 * time.Second
	// watchedPause is the pause for orders in doubt without a known opened payment (app/recovery). All pending orders
	// may be in doubt, so their queries must be rare: they share the rate limit with the other trades.
	watchedPause = 2 * time.Minute
	// lateQueryPeriod is how long the trade of an ended order is still queried, with pauses that double. The gateway
	// should have closed such a trade. The queries detect a gateway that still accepts money and does not report it.
	lateQueryPeriod = 24 * time.Hour
	// minUnresolvedAge is the age of a late payment from which this job resolves it.
	minUnresolvedAge = 5 * time.Second
)

// PayReconciler is the second half of flow 3. It queries trades without a final state, so that a lost notification does
// not lose a payment (P8). It also completes late payments after a crash. Nodes share the trades by claiming them.
//
//	claim one trade per free place ─▶ read the orders ─▶ query each trade ─▶ schedule the next queries
//	                 ▲                                          │ a place is free again
//	                 └──────────────────────────────────────────┘
//
// Trades that can still be paid come first, then the trades with the earliest due time.
type PayReconciler struct {
	Payments *PaymentService
	// Pace limits the rate of queries: each query waits until it returns. nil: no limit.
	Pace func(ctx context.Context) error
	// MaxQueries is the maximum number of running queries; 0: maxQueries. The pace must allow that many queries within
	// ten seconds.
	MaxQueries int

	window  queryWindow
	claims  sync.WaitGroup // claims with running queries
	skip    int            // unresolvable late payments that are skipped until the next round
	queries atomic.Int64
	overdue atomic.Int64
}

// Queries returns the number of trade queries of this node.
func (r *PayReconciler) Queries() int64 { return r.queries.Load() }

// Overdue returns how long the most overdue trade was due at the last claim.
func (r *PayReconciler) Overdue() time.Duration { return time.Duration(r.overdue.Load()) }

// Run queries trades and resolves late payments until ctx ends.
func (r *PayReconciler) Run(ctx context.Context) error {
	var late sync.WaitGroup
	late.Go(func() { _ = shop.Repeat(ctx, reconcileEvery, "resolve late payments", r.resolveLate) })
	defer late.Wait()
	defer r.claims.Wait()
	for ctx.Err() == nil {
		_, err := r.claimAndQuery(ctx, func(err error) { warn(ctx, err) })
		warn(ctx, err)
		select {
		case <-ctx.Done():
		case <-time.After(reconcileEvery):
		case <-r.window.changed():
		}
	}
	return ctx.Err()
}

func warn(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "reconcile payments", "err", err)
	}
}

// RunOnce queries all due trades, waits for the results, and tries once to resolve the unresolved late payments.
func (r *PayReconciler) RunOnce(ctx context.Context) error {
	var mu sync.Mutex
	var failed []error
	for {
		n, err := r.claimAndQuery(ctx, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		})
		r.claims.Wait()
		if n == 0 || err != nil {
			return errors.Join(append(failed, err, r.resolveLate(ctx))...)
		}
	}
}

// resolveLate resolves late payments that a crash left unresolved, and refunds anomalies. Payments that fail are
// skipped by the next calls, until the end of the list is reached. So they do not block later payments.
func (r *PayReconciler) resolveLate(ctx context.Context) error {
	now, err := r.Payments.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	list, err := r.Payments.Trades.Unresolved(ctx, now.Add(-minUnresolvedAge), r.skip, lateBatch)
	if err != nil {
		return fmt.Errorf("list unresolved payments: %w", err)
	}
	var failed []error
	for _, p := range list {
		if err := r.Payments.complete(ctx, p, now); err != nil {
			failed = append(failed, fmt.Errorf("payment of order %s: %w", p.Order, err))
		}
	}
	r.skip += len(failed)
	if len(list) < lateBatch {
		r.skip = 0
	}
	return errors.Join(failed...)
}

// claimAndQuery claims as many trades as there are free places, returns their number, and starts their queries. It does
// not wait for the results. If queries fail later, it calls onError once, with the errors of all these queries.
func (r *PayReconciler) claimAndQuery(ctx context.Context, onError func(error)) (int, error) {
	r.window.limit = r.MaxQueries
	places := r.window.enter(time.Now())
	if places == 0 {
		return 0, nil
	}
	trades, orders, now, err := r.claim(ctx, places)
	r.window.leave(places - len(trades))
	if len(trades) == 0 || err != nil {
		return 0, err
	}
	r.claims.Go(func() {
		if err := r.queryAll(ctx, trades, orders, now); err != nil {
			onError(err)
		}
	})
	return len(trades), nil
}

// claim claims due trades and reads their orders. After an error the trades are due again when their lease ends.
func (r *PayReconciler) claim(
	ctx context.Context, limit int,
) (trades []OpenedTrade, orders map[shop.ID]shop.Order, now shop.Millis, err error) {
	if now, err = r.Payments.Stock.Now(ctx); err != nil {
		return nil, nil, 0, fmt.Errorf("read Redis time: %w", err)
	}
	if trades, err = r.Payments.Trades.ClaimTrades(ctx, now, now.Add(queryLease), limit); err != nil {
		return nil, nil, now, err
	}
	overdue := time.Duration(0)
	ids := make([]shop.ID, len(trades))
	for i, t := range trades {
		ids[i] = t.Order
		overdue = max(overdue, now.Sub(t.DueAt))
	}
	r.overdue.Store(int64(overdue))
	if len(trades) == 0 {
		return nil, nil, now, nil
	}
	rows, err := r.Payments.Orders.OrdersByID(ctx, ids)
	if err != nil {
		return nil, nil, now, fmt.Errorf("read orders of %d trades: %w", len(ids), err)
	}
	orders = make(map[shop.ID]shop.Order, len(rows))
	for _, o := range rows {
		orders[o.ID] = o
	}
	return trades, orders, now, nil
}

// queryAll queries each trade of a claim. After all results it schedules the next queries.
func (r *PayReconciler) queryAll(
	ctx context.Context, trades []OpenedTrade, orders map[shop.ID]shop.Order, now shop.Millis,
) error {
	failed := make([]error, len(trades))
	var running sync.WaitGroup
	for i, t := range trades {
		running.Go(func() {
			failed[i] = r.queryTrade(ctx, orders[t.Order])
			r.window.finished(failed[i] != nil && !errors.Is(failed[i], ErrTradeMismatch), time.Now())
		})
	}
	running.Wait()
	next := make(map[shop.ID]shop.Millis, len(trades))
	for i, t := range trades {
		next[t.Order] = wholeSecond(nextQuery(orders[t.Order], t, now, failed[i] != nil))
	}
	return errors.Join(append(failed, r.Payments.Trades.CheckTrades(ctx, now, next))...)
}

// wholeSecond rounds up to a second: trades that are due in the same second are scheduled with one statement.
func wholeSecond(at shop.Millis) shop.Millis { return (at + 999) / 1000 * 1000 }

// queryTrade queries and settles the trade of one order. If the trade is unpaid and the order has ended, it closes the
// trade.
func (r *PayReconciler) queryTrade(ctx context.Context, o shop.Order) error {
	if !isUnpaid(o) {
		return nil
	}
	if err := r.wait(ctx); err != nil {
		return fmt.Errorf("wait to query the trade of order %s: %w", o.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	t, err := r.Payments.Gateway.Query(ctx, o.ID)
	if err == nil && t.State == TradeWaiting && o.State != shop.Pending {
		t, err = r.Payments.Gateway.Close(ctx, o.ID)
	}
	if err == nil {
		err = r.Payments.Settle(ctx, t)
	}
	if err != nil {
		return fmt.Errorf("query the trade of order %s: %w", o.ID, err)
	}
	return nil
}

// wait waits for the pace.
func (r *PayReconciler) wait(ctx context.Context) error {
	r.queries.Add(1)
	if r.Pace == nil {
		return ctx.Err()
	}
	return r.Pace(ctx)
}

// isUnpaid reports whether the trade may still change: nothing has been paid for the order yet.
func isUnpaid(o shop.Order) bool {
	return o.State == shop.Pending || (o.State == shop.Expired || o.State == shop.Cancelled) && o.TradeNo == ""
}

// nextQuery returns the time of the next query of the trade; 0: never, its state is final. o is the order as it was
// before the last query. If that query found a payment and its settlement did not end the queries, the
// next call returns 0.
func nextQuery(o shop.Order, t OpenedTrade, now shop.Millis, failed bool) shop.Millis {
	age := now.Sub(t.OpenedAt)
	switch {
	case !isUnpaid(o):
		return 0
	case !failed && o.State == shop.Pending && t.OpenedAt == 0:
		return now.Add(watchedPause)
	case failed || o.State == shop.Pending || now <= t.ExpiresAt:
		return now.Add(min(max(age/2, firstPayPause), lastPayPause))
	}
	ended := now.Sub(t.ExpiresAt)
	if ended > lateQueryPeriod {
		return 0
	}
	return now.Add(max(ended, lastPayPause))
}
