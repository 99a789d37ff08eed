package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	payWatchEvery = time.Second
	payWatchBatch = 200 // trades asked about in one round
	payWatchers   = 8   // at the same time
	// payWatchLease is how long trades belong to the node that took them; it covers two answers that time out.
	payWatchLease = 30 * time.Second
	// The pauses between two questions about a trade grow with its age: a buyer who has just paid is heard soon, and no
	// notification is missed for longer than a minute.
	firstPayPause, lastPayPause = 5 * time.Second, 30 * time.Second
	// latePayLooks is how long after its end an order's trade is looked at, in pauses that double. The gateway has closed it
	// then; this is for a gateway that takes money all the same and says nothing.
	latePayLooks = 24 * time.Hour
	// undecidedFor is how long a late payment may be undecided before this duty steps in.
	undecidedFor = 5 * time.Second
)

// PayReconciler is the second half of flow 3: it asks the gateway about trades of which no last word has come, so that a
// lost notification, or a shop without a public address for them, loses no payment (P8); and it finishes what a crash
// left undecided. Any number of nodes may run it.
type PayReconciler struct {
	Cashier *Cashier
}

// Run looks until ctx ends.
func (r *PayReconciler) Run(ctx context.Context) error {
	return every(ctx, payWatchEvery, func() {
		if err := r.RunOnce(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "reconcile payments", "err", err)
		}
	})
}

// RunOnce looks once: at trades whose turn it is, and at late payments about which nothing is decided.
func (r *PayReconciler) RunOnce(ctx context.Context) error {
	now, err := r.Cashier.Ledger.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	return errors.Join(r.ask(ctx, now), r.undecided(ctx, now))
}

// undecided resumes what became of late money where somebody did not live to finish it.
func (r *PayReconciler) undecided(ctx context.Context, now Millis) error {
	list, err := r.Cashier.Payments.Unsettled(ctx, now.Add(-undecidedFor), payWatchBatch)
	if err != nil {
		return fmt.Errorf("list unsettled payments: %w", err)
	}
	var failed []error
	for _, p := range list {
		o, err := r.Cashier.Orders.Order(ctx, p.Order)
		if err == nil && o.reviving() {
			err = r.Cashier.decide(ctx, o)
		} else if err == nil {
			err = r.Cashier.decided(ctx, o.ID)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("late payment of order %s: %w", p.Order, err))
		}
	}
	return errors.Join(failed...)
}

// ask asks the gateway about a batch of trades and plans their next turns.
func (r *PayReconciler) ask(ctx context.Context, now Millis) error {
	trades, err := r.Cashier.Payments.ClaimTrades(ctx, now, now.Add(payWatchLease), payWatchBatch)
	if err != nil || len(trades) == 0 {
		return err
	}
	ids := make([]ID, len(trades))
	for i, t := range trades {
		ids[i] = t.Order
	}
	rows, err := r.Cashier.Orders.OrdersByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read orders of %d trades: %w", len(ids), err)
	}
	orders := make(map[ID]Order, len(rows))
	for _, o := range rows {
		orders[o.ID] = o
	}
	next := make(map[ID]Millis, len(trades))
	var failed []error
	var mu sync.Mutex
	var asked sync.WaitGroup
	places := make(chan struct{}, payWatchers)
	for _, t := range trades {
		asked.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			err := r.look(ctx, orders[t.Order])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
			}
			next[t.Order] = nextLook(orders[t.Order], t, now, err != nil)
		})
	}
	asked.Wait()
	return errors.Join(append(failed, r.Cashier.Payments.CheckTrades(ctx, next))...)
}

// look asks about the trade of one order. One that still waits for a buyer whose order has ended is closed.
func (r *PayReconciler) look(ctx context.Context, o Order) error {
	if !watched(o) {
		return nil
	}
	t, err := r.Cashier.Gateway.Query(ctx, o.ID)
	if err == nil && t.State == TradeWaiting && o.State != Pending {
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

// watched tells whether the gateway may still have something to say about the order: nothing is paid by it yet.
func watched(o Order) bool {
	return o.State == Pending || (o.State == Expired || o.State == Cancelled) && o.TradeNo == ""
}

// nextLook is when the trade is looked at next; 0: never again, all is known of it. It goes by the row as it was before the look:
// what was just paid is found to be so at the next turn, if it has not been written down on the way.
func nextLook(o Order, t OpenedTrade, now Millis, failed bool) Millis {
	age := now.Sub(t.OpenedAt)
	switch {
	case !watched(o):
		return 0
	case failed || o.State == Pending || now <= t.ExpiresAt:
		return now.Add(min(max(age/2, firstPayPause), lastPayPause))
	}
	ended := now.Sub(t.ExpiresAt)
	if ended > latePayLooks {
		return 0
	}
	return now.Add(max(ended, lastPayPause))
}
