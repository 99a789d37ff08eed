package payment

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"stampede/app/shop"
)

const (
	listingEvery = time.Minute
	// listingPause is the pause after a comparison that failed or was not due: known differences are compared again
	// after it.
	listingPause = 10 * time.Minute
	// ListingStep is the longest range that is compared at once, because its orders are in memory, and the longest time
	// between two comparisons.
	ListingStep = 24 * time.Hour
)

// Differences keeps the progress of the comparison with the gateway's lists and its differences, see store.Differences.
type Differences interface {
	// Progress returns the progress.
	Progress(ctx context.Context) (ListingProgress, error)
	// Claim claims the comparison after the one that began at `last`. false: another node has claimed it.
	Claim(ctx context.Context, last, now shop.Millis) (bool, error)
	// Orders lists the orders with differences.
	Orders(ctx context.Context) ([]shop.ID, error)
	// Save replaces the differences of the compared orders, and records that the lists were compared until an instant.
	Save(ctx context.Context, compared []shop.ID, found []PayDifference, until, now shop.Millis) error
}

// ListingProgress is the progress of the comparison with the gateway's lists.
type ListingProgress struct {
	Until      shop.Millis // the lists were compared until then; 0: never
	At         shop.Millis // when a node began the last comparison
	DoubtUntil shop.Millis // the last doubt about lost writes, see shop.DatabaseHistory
}

// due reports whether lists have to be compared: a day after the last comparison; when the lists contain the trades
// before a doubt; and when they contain the trades that could still be paid then.
func (p ListingProgress) due(listed shop.Millis, window time.Duration) bool {
	passed := func(at shop.Millis) bool { return p.Until < at && at <= listed }
	return listed.Sub(p.Until) >= ListingStep || passed(p.DoubtUntil) || passed(p.DoubtUntil.Add(window))
}

// ListingJob compares the gateway's lists with the shop once a day and after each doubt about lost writes. Then it
// queries the gateway about orders of the same time that are in no list. Differences are kept until they have ended.
// One node at a time compares.
type ListingJob struct {
	Listing *Listing
	Store   Differences
}

// Run compares until ctx ends.
func (j *ListingJob) Run(ctx context.Context) error {
	return shop.Repeat(ctx, listingEvery, "compare with the gateway's lists", j.RunOnce)
}

// RunOnce compares the next range, if it is due, and the orders with differences.
func (j *ListingJob) RunOnce(ctx context.Context) error {
	now, err := j.Listing.Payments.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	progress, err := j.Store.Progress(ctx)
	if err != nil {
		return err
	}
	progress.Until = cmp.Or(progress.Until, now.Add(-ListingStep))
	listed := now.Add(-j.Listing.Lag)
	began := progress.due(listed, j.Listing.Window) && !progress.due(progress.At.Add(-j.Listing.Lag), j.Listing.Window)
	if !began && now.Sub(progress.At) < listingPause {
		return nil
	}
	claimed, err := j.Store.Claim(ctx, progress.At, now)
	if err != nil || !claimed {
		return err
	}
	orders, err := j.Store.Orders(ctx)
	if err != nil {
		return err
	}
	until := progress.Until
	for {
		progress.Until = until
		if progress.due(listed, j.Listing.Window) {
			var listedOrders []shop.ID
			if listedOrders, until, err = j.compare(ctx, until, min(until.Add(ListingStep), listed)); err != nil {
				return err
			}
			orders = append(orders, listedOrders...)
		}
		slices.Sort(orders)
		orders = slices.Compact(orders)
		found, err := j.Listing.Daily.differences(ctx, orders)
		if err == nil {
			err = j.Store.Save(ctx, orders, found, until, now)
		}
		if err != nil || until == progress.Until { // not due, or the bill does not exist yet
			return err
		}
		orders = nil
	}
}

// compare compares the lists of [from, to), and returns the orders to compare again and the instant until which the
// lists are complete.
func (j *ListingJob) compare(
	ctx context.Context, from, to shop.Millis,
) (orders []shop.ID, until shop.Millis, err error) {
	r, err := j.Listing.compare(ctx, from, to)
	if err != nil {
		return nil, from, err
	}
	slog.InfoContext(ctx, "compared with the gateway's lists", "from", r.From, "to", r.To, "bills", r.Bills,
		"trades", r.Trades, "foreign", r.Foreign, "settled", r.Settled, "written", r.Written, "booked", r.Booked)
	unlisted, err := j.unlisted(ctx, &r)
	return append(sortedIDs(r.differed), unlisted...), r.To, err
}

// unlisted lists the orders with a recorded payment in the range of a comparison that are in no list.
func (j *ListingJob) unlisted(ctx context.Context, r *ListingReport) (ids []shop.ID, err error) {
	for after, more := shop.ID(0), true; more; {
		page, err := j.Listing.Payments.Trades.OrdersOfDay(ctx, r.From, r.To, after, payDayBatch)
		if err != nil {
			return nil, fmt.Errorf("list the orders: %w", err)
		}
		if more = len(page) == payDayBatch; more {
			after = page[payDayBatch-1]
		}
		page = shop.Where(page, func(id shop.ID) bool { return !r.agreed[id] && !r.differed[id] })
		payments, err := j.Listing.Payments.Trades.PaymentsOf(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("read payments: %w", err)
		}
		ids = append(ids, shop.Mapped(payments, func(p ReceivedPayment) shop.ID { return p.Order })...)
	}
	return ids, nil
}
