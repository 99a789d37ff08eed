package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// RehearsalKeys removes from Redis what no other flow would.
type RehearsalKeys interface {
	// ForgetDeadlines takes orders out of the delay queue of a partition.
	ForgetDeadlines(ctx context.Context, partition int, orders []ID) error
}

const (
	// rehearsalRest is how long after the end of a rehearsal its keys leave Redis: by then no node believes that its
	// sale is open, so none tries to bring it back.
	rehearsalRest = windowMargin + time.Second
	// cleanPage is how many orders are removed at a time.
	cleanPage = 500
	// cleanPause is between two looks at what is not over yet.
	cleanPause = 200 * time.Millisecond
	// cleanWithin bounds one cleaning; the next one goes on with it.
	cleanWithin = 2 * time.Minute
	cleanerLook = 2 * time.Second
)

// Clean removes all that an ending rehearsal has left, in an order in which nothing is lost sight of:
//
//	terms to Redis: closed → entries settled → orders expired, units back → keys retired → rows removed → gone
//
// Each step does nothing when it was done before, so that whoever comes after a crash begins anew, and two at the same
// time do no harm. It waits for a partition that is being made anew.
func (d *RehearsalDesk) Clean(ctx context.Context, r *Rehearsal) error {
	ctx, cancel := context.WithTimeout(ctx, cleanWithin)
	defer cancel()
	for {
		clean, err := d.cleanOnce(ctx, r)
		if clean || err != nil && !errors.Is(err, ErrTransient) && !errors.Is(err, ErrStaleEpoch) {
			return err
		}
		if !Sleep(ctx, cleanPause) {
			return fmt.Errorf("clean up after the rehearsal in sale %s: %w", r.Sale, cmp.Or(err, ctx.Err()))
		}
	}
}

// cleanOnce goes as far as it can; clean: nothing is left.
func (d *RehearsalDesk) cleanOnce(ctx context.Context, r *Rehearsal) (clean bool, err error) {
	sale, err := d.Sales.Sale(ctx, r.Sale)
	if errors.Is(err, ErrNoRow) {
		return true, nil // somebody else was faster
	}
	if err != nil {
		return false, fmt.Errorf("read the sale of the rehearsal: %w", err)
	}
	err = d.Redis.SetTerms(ctx, &sale)
	if err != nil && !errors.Is(err, ErrLost) {
		return false, err
	}
	counters, err := d.Inventory.Counters(ctx, []SaleRef{sale.Ref()})
	if err != nil {
		return false, err
	}
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("read Redis time: %w", err)
	}
	c := counters[0]
	switch due := sale.ClosesAt.Add(RehearsalPayWindow + time.Second); {
	case now < sale.ClosesAt.Add(rehearsalRest), c.Loaded && c.Done < c.Tickets:
		return false, nil
	case now >= due: // the sweepers should have done it
		if err := d.endOrders(ctx, &sale, now); err != nil {
			return false, err
		}
	}
	if c.Held > 0 {
		return false, nil
	}
	// Marked first: a sale that the database says was loaded, and that is not in Redis, would have its partition
	// rebuilt.
	if err := d.Sales.MarkRetired(ctx, sale.ID, sale.Epoch); err != nil {
		return false, err
	}
	if gone, err := d.Inventory.Retire(ctx, sale.Ref()); err != nil || !gone {
		return false, err
	}
	return true, d.remove(ctx, &sale)
}

// endOrders expires what is still unpaid and returns the units, as a sweeper would that is not there.
func (d *RehearsalDesk) endOrders(ctx context.Context, sale *Sale, now Millis) error {
	return d.eachPage(ctx, sale.ID, func(page []Order) error {
		var unpaid []ID
		for i := range page {
			if page[i].State == Pending {
				unpaid = append(unpaid, page[i].ID)
			}
		}
		if len(unpaid) == 0 {
			return nil
		}
		rows, err := d.Orders.Expire(ctx, unpaid, now)
		if err != nil {
			return fmt.Errorf("expire %d orders of the rehearsal: %w", len(unpaid), err)
		}
		return d.Effects.Do(ctx, now, pointers(rows)...)
	})
}

func (d *RehearsalDesk) eachPage(ctx context.Context, sale ID, do func(page []Order) error) error {
	for after := ID(0); ; {
		page, err := d.Orders.OrdersOfSale(ctx, sale, after, cleanPage)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := do(page); err != nil {
			return err
		}
		after = page[len(page)-1].ID
	}
}

// remove lets go of dead letters, deadlines and rows. The sale's row goes last: until then whoever looks finds it.
func (d *RehearsalDesk) remove(ctx context.Context, sale *Sale) error {
	letters, err := d.Dead.DeadLetters(ctx)
	if err != nil {
		return fmt.Errorf("list dead letters: %w", err)
	}
	for _, letter := range letters {
		if letter.Sale == sale.ID {
			if _, err := d.Dead.RemoveDeadLetter(ctx, letter.ID); err != nil {
				return err
			}
		}
	}
	err = d.eachPage(ctx, sale.ID, func(page []Order) error {
		ids := make([]ID, len(page))
		for i := range page {
			ids[i] = page[i].ID
		}
		if err := d.Keys.ForgetDeadlines(ctx, sale.Partition, ids); err != nil {
			return err
		}
		return d.Store.RemoveRehearsed(ctx, sale.ID, ids)
	})
	if err != nil {
		return fmt.Errorf("remove the orders of the rehearsal: %w", err)
	}
	return d.Store.RemoveRehearsal(ctx, sale.ID)
}

// RehearsalCleaner is the duty that ends rehearsals whose process has died or whose time is over, and removes what
// they have left.
type RehearsalCleaner struct {
	Desk *RehearsalDesk

	forgot time.Time // when old rows were removed last
}

// Run looks until ctx ends.
func (c *RehearsalCleaner) Run(ctx context.Context) error {
	return Repeat(ctx, cleanerLook, "clean up after rehearsals", c.RunOnce)
}

// RunOnce looks once.
func (c *RehearsalCleaner) RunOnce(ctx context.Context) error {
	r, now, err := c.Desk.Store.Rehearsing(ctx)
	if errors.Is(err, ErrNoRow) {
		return c.forget(ctx, now.Add(-rehearsalKept))
	}
	if err != nil {
		return err
	}
	if r.State == RehearsalRunning {
		if now < r.UntilAt && now < r.AliveAt.Add(rehearsalSilence) {
			return nil
		}
		slog.WarnContext(ctx, "nobody runs a rehearsal any more, or its time is over; it is ended and removed", "sale", r.Sale,
			"of", r.Of, "by", r.By)
		redisNow, err := c.Desk.Inventory.Now(ctx)
		if err != nil {
			return fmt.Errorf("read Redis time: %w", err)
		}
		if err := c.Desk.Store.EndRehearsal(ctx, r.Sale, redisNow); err != nil {
			return err
		}
	}
	return c.Desk.Clean(ctx, &r)
}

// forget removes the rows of rehearsals that were gone long ago, now and then.
func (c *RehearsalCleaner) forget(ctx context.Context, before Millis) error {
	if !c.forgot.IsZero() && time.Since(c.forgot) < time.Hour {
		return nil
	}
	err := c.Desk.Store.ForgetRehearsals(ctx, before)
	if err == nil {
		c.forgot = time.Now()
	}
	return err
}

// RehearsalWatch is what a node knows of the rehearsal that runs.
type RehearsalWatch struct {
	Store RehearsalStore
	Now   func() Millis

	running atomic.Pointer[rehearsalSeen]
	last    atomic.Int64 // the sale of the one that was seen last, which is remembered when it is over
}

// rehearsalSeen is a rehearsal and how many of its shoppers have come.
type rehearsalSeen struct {
	Rehearsal
	shoppers shopperSet
}

// rehearsalEvery is how often a node looks.
const rehearsalEvery = 500 * time.Millisecond

// Run follows the rehearsals until ctx ends.
func (w *RehearsalWatch) Run(ctx context.Context) error {
	return Repeat(ctx, rehearsalEvery, "look for a rehearsal", w.RunOnce)
}

// RunOnce looks once. While the database does not answer, what is known holds until its time is over.
func (w *RehearsalWatch) RunOnce(ctx context.Context) error {
	r, _, err := w.Store.Rehearsing(ctx)
	if err != nil && !errors.Is(err, ErrNoRow) {
		return err
	}
	if err == nil {
		w.last.Store(int64(r.Sale))
	}
	known := w.running.Load()
	switch {
	case err != nil || r.State != RehearsalRunning:
		w.running.Store(nil)
	case known == nil || known.Sale != r.Sale:
		w.running.Store(&rehearsalSeen{Rehearsal: r, shoppers: newShopperSet(r.Shoppers)})
	}
	return nil
}

// IsRehearsal reports whether a sale is that of the rehearsal that runs, or that was the last one. Nobody buys in it
// before this node has seen it.
func (w *RehearsalWatch) IsRehearsal(sale ID) bool { return sale != 0 && ID(w.last.Load()) == sale }

// Admits reports whether who is named by a token is a shopper of the rehearsal that runs: of no more than it has.
func (w *RehearsalWatch) Admits(who *Identity) bool {
	r := w.running.Load()
	return r != nil && who.Rehearsal() == r.Sale && w.Now() < r.UntilAt && r.shoppers.admits(who.User)
}
