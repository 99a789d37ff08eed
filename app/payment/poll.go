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
	payWatchEvery = time.Second
	payWatchBatch = 200 // late payments looked at in one round
	// payWatchLease is how long trades belong to the node that took them. It is longer than lookWithin and the wait for
	// the pace together.
	payWatchLease = 30 * time.Second
	// lookWithin bounds one look, at most a query and a close.
	lookWithin = 12 * time.Second
	// The pauses between two questions about a trade grow with its age: a buyer who has just paid is heard soon, and no
	// notification is missed for longer than a minute.
	firstPayPause, lastPayPause = 5 * time.Second, 30 * time.Second
	// watchedPause is that pause for orders of which no payment is known to have been opened (app/recovery): all that
	// were pending, so that their questions leave the pace to the others.
	watchedPause = 2 * time.Minute
	// latePayLooks is how long after its end an order's trade is looked at, in pauses that double. The gateway has
	// closed it then; this is for a gateway that takes money all the same and says nothing.
	latePayLooks = 24 * time.Hour
	// unresolvedFor is how long a late payment may be unresolved before this duty steps in.
	unresolvedFor = 5 * time.Second
)

// PayReconciler is the second half of flow 3: it queries trades without a final answer, so that no lost notification
// loses a payment (P8), and completes what a crash left unresolved. Nodes share the trades by claiming them.
//
//	claim as many as there are places ─▶ read their orders ─▶ ask about each ─▶ plan their next turns
//	                 ▲                                          │ a place is free again
//	                 └──────────────────────────────────────────┘
//
// Trades that can still be paid come first, then those that wait longest.
type PayReconciler struct {
	Cashier *Cashier
	// Pace spaces the questions out, each waits for its turn; nil: as fast as the gateway answers.
	Pace interface {
		Wait(ctx context.Context) error
	}
	// AtOnce is how many questions may be under way; 0: askersAtMost. The pace must let them pass within ten seconds.
	AtOnce int

	window askWindow
	claims sync.WaitGroup // whose answers have not all come
	skip   int            // late payments that could not be resolved and are left out until the next turn
	asked  atomic.Int64
	behind atomic.Int64
}

// Asked is how many questions about trades this node has asked.
func (r *PayReconciler) Asked() int64 { return r.asked.Load() }

// Behind is how long the trade that waited longest was due when this node looked last.
func (r *PayReconciler) Behind() time.Duration { return time.Duration(r.behind.Load()) }

// Run looks until ctx ends.
func (r *PayReconciler) Run(ctx context.Context) error {
	var late sync.WaitGroup
	late.Go(func() { _ = shop.Repeat(ctx, payWatchEvery, "resolve late payments", r.unresolved) })
	defer late.Wait()
	defer r.claims.Wait()
	for ctx.Err() == nil {
		_, err := r.ask(ctx, func(err error) { warn(ctx, err) })
		warn(ctx, err)
		select {
		case <-ctx.Done():
		case <-time.After(payWatchEvery):
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

// RunOnce asks about all trades whose turn it is, waits for the answers, and looks once at late payments that are not
// resolved.
func (r *PayReconciler) RunOnce(ctx context.Context) error {
	var mu sync.Mutex
	var failed []error
	for {
		n, err := r.ask(ctx, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		})
		r.claims.Wait()
		if n == 0 || err != nil {
			return errors.Join(append(failed, err, r.unresolved(ctx))...)
		}
	}
}

// unresolved resumes late payments that a crash left unresolved. The next look leaves out those that fail, until it has
// seen the rest, so that they hide no later ones.
func (r *PayReconciler) unresolved(ctx context.Context) error {
	now, err := r.Cashier.Redis.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	list, err := r.Cashier.Store.Unresolved(ctx, now.Add(-unresolvedFor), r.skip, payWatchBatch)
	if err != nil {
		return fmt.Errorf("list unresolved payments: %w", err)
	}
	var failed []error
	for _, p := range list {
		o, err := r.Cashier.Store.Order(ctx, p.Order)
		if err == nil && o.Reviving() {
			err = r.Cashier.resolve(ctx, o)
		} else if err == nil {
			err = r.Cashier.resolved(ctx, o.ID)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("late payment of order %s: %w", p.Order, err))
		}
	}
	r.skip += len(failed)
	if len(list) < payWatchBatch {
		r.skip = 0
	}
	return errors.Join(failed...)
}

// ask claims as many trades as there are places, answers how many, and has them asked about. It does not wait for the
// answers; done hears what went wrong with them, once for each claim.
func (r *PayReconciler) ask(ctx context.Context, done func(error)) (int, error) {
	r.window.most = r.AtOnce
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
		if err := r.askAll(ctx, trades, orders, now); err != nil {
			done(err)
		}
	})
	return len(trades), nil
}

// claim takes trades that are due, and reads their orders. After an error they come again when their lease ends.
func (r *PayReconciler) claim(
	ctx context.Context, most int,
) (trades []OpenedTrade, orders map[shop.ID]shop.Order, now shop.Millis, err error) {
	if now, err = r.Cashier.Redis.Now(ctx); err != nil {
		return nil, nil, 0, fmt.Errorf("read Redis time: %w", err)
	}
	if trades, err = r.Cashier.Store.ClaimTrades(ctx, now, now.Add(payWatchLease), most); err != nil {
		return nil, nil, now, err
	}
	behind := time.Duration(0)
	ids := make([]shop.ID, len(trades))
	for i, t := range trades {
		ids[i] = t.Order
		behind = max(behind, now.Sub(t.DueAt))
	}
	r.behind.Store(int64(behind))
	if len(trades) == 0 {
		return nil, nil, now, nil
	}
	rows, err := r.Cashier.Store.OrdersByID(ctx, ids)
	if err != nil {
		return nil, nil, now, fmt.Errorf("read orders of %d trades: %w", len(ids), err)
	}
	orders = make(map[shop.ID]shop.Order, len(rows))
	for _, o := range rows {
		orders[o.ID] = o
	}
	return trades, orders, now, nil
}

// askAll asks about each trade of a claim, and plans their next turns when all have been answered.
func (r *PayReconciler) askAll(
	ctx context.Context, trades []OpenedTrade, orders map[shop.ID]shop.Order, now shop.Millis,
) error {
	failed := make([]error, len(trades))
	var asked sync.WaitGroup
	for i, t := range trades {
		asked.Go(func() {
			failed[i] = r.look(ctx, orders[t.Order])
			r.window.answered(failed[i] != nil && !errors.Is(failed[i], ErrTradeOdd), time.Now())
		})
	}
	asked.Wait()
	next := make(map[shop.ID]shop.Millis, len(trades))
	for i, t := range trades {
		next[t.Order] = wholeSecond(nextLook(orders[t.Order], t, now, failed[i] != nil))
	}
	return errors.Join(append(failed, r.Cashier.Store.CheckTrades(ctx, now, next))...)
}

// wholeSecond rounds up: trades that come again in the same second are planned with one statement.
func wholeSecond(at shop.Millis) shop.Millis { return (at + 999) / 1000 * 1000 }

// look asks about the trade of one order. One that still waits for a buyer whose order has ended is closed.
func (r *PayReconciler) look(ctx context.Context, o shop.Order) error {
	if !watched(o) {
		return nil
	}
	if err := r.wait(ctx); err != nil {
		return fmt.Errorf("wait to look at the trade of order %s: %w", o.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	t, err := r.Cashier.Gateway.Query(ctx, o.ID)
	if err == nil && t.State == TradeWaiting && o.State != shop.Pending {
		t, err = r.Cashier.Gateway.Close(ctx, o.ID)
	}
	if err == nil {
		err = r.Cashier.Settle(ctx, t)
	}
	if err != nil {
		return fmt.Errorf("look at the trade of order %s: %w", o.ID, err)
	}
	return nil
}

// wait keeps to the pace.
func (r *PayReconciler) wait(ctx context.Context) error {
	r.asked.Add(1)
	if r.Pace == nil {
		return ctx.Err()
	}
	return r.Pace.Wait(ctx)
}

// watched reports whether the gateway may still have something to say about the order: nothing is paid by it yet.
func watched(o shop.Order) bool {
	return o.State == shop.Pending || (o.State == shop.Expired || o.State == shop.Cancelled) && o.TradeNo == ""
}

// nextLook is when the trade is looked at next; 0: never again, all is known of it. It goes by the row as it was before
// the look: what was just paid is found to be so at the next turn, if it has not been written down on the way.
func nextLook(o shop.Order, t OpenedTrade, now shop.Millis, failed bool) shop.Millis {
	age := now.Sub(t.OpenedAt)
	switch {
	case !watched(o):
		return 0
	case !failed && o.State == shop.Pending && o.CreatedAt != 0 && o.TradeOpened == o.CreatedAt:
		return now.Add(watchedPause)
	case failed || o.State == shop.Pending || now <= t.ExpiresAt:
		return now.Add(min(max(age/2, firstPayPause), lastPayPause))
	}
	ended := now.Sub(t.ExpiresAt)
	if ended > latePayLooks {
		return 0
	}
	return now.Add(max(ended, lastPayPause))
}
