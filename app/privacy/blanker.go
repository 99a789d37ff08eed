package privacy

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// MinAge is the minimum of STAMPEDE_PERSONAL_DATA_AFTER. After this time the sale is no longer in Redis.
	MinAge = 48 * time.Hour

	blankEvery = 10 * time.Minute
	blankBatch = 200 // orders that one transaction locks for some milliseconds
	blankSales = 100 // sales per query
	// minBlankPause is the minimum pause after a transaction; the pause is blankPauseFactor times as long as the
	// transaction.
	minBlankPause    = 20 * time.Millisecond
	blankPauseFactor = 4

	// Nothing is removed from quietBeforeOpening before the opening of a sale until quietAfterOpening after it.
	quietBeforeOpening = 10 * time.Minute
	quietAfterOpening  = 5 * time.Minute

	// A sale with unsettled orders is checked again after a day, or after a week if the last check changed no order.
	recheckAfter, idleRecheckAfter = 24 * time.Hour, 7 * 24 * time.Hour
)

// BlankerJob removes personal data from the settled orders of sales that closed long ago, and old addresses of guests.
// It uses short transactions with pauses, and none around openings. After a crash at any point the next run continues.
// Several nodes may run it at the same time: a repeated removal changes nothing.
type BlankerJob struct {
	Store *store.Store
	After time.Duration // from the close of a sale; 0: personal data stays

	orders  atomic.Int64           // without personal data since the start of the process
	failure atomic.Pointer[string] // of the last run
}

// Blanked returns the number of orders from which this process removed personal data.
func (b *BlankerJob) Blanked() int64 { return b.orders.Load() }

// Failure describes why the last run has failed; "": it has not.
func (b *BlankerJob) Failure() string {
	if text := b.failure.Load(); text != nil {
		return *text
	}
	return ""
}

// Run calls RunOnce periodically until ctx ends.
func (b *BlankerJob) Run(ctx context.Context) error {
	return shop.Repeat(ctx, blankEvery, "remove old personal data", func(ctx context.Context) error {
		err, failure := b.RunOnce(ctx), ""
		if err != nil {
			failure = err.Error()
		}
		b.failure.Store(&failure)
		return err
	})
}

// RunOnce removes all personal data that is due. It ends early if a sale is about to open.
func (b *BlankerJob) RunOnce(ctx context.Context) error {
	if b.After == 0 {
		return nil
	}
	for {
		now, err := b.Store.Clock(ctx)
		if err != nil {
			return err
		}
		sales, err := b.Store.PersonalData().SalesToBlank(ctx, now.At, now.At.Add(-b.After), blankSales)
		if err != nil {
			return err
		}
		for _, sale := range sales {
			if quiet, err := b.blankSale(ctx, sale, now.At); err != nil || quiet {
				return err
			}
		}
		if len(sales) < blankSales {
			return b.deleteGuestAddresses(ctx, now.At.Add(-b.After))
		}
	}
}

// blankSale removes the personal data of a sale. quiet reports that the run must end before the sale is done.
func (b *BlankerJob) blankSale(ctx context.Context, sale shop.ID, now shop.Millis) (quiet bool, err error) {
	blanked, after := int64(0), shop.ID(0)
	quiet, err = b.steps(ctx, func() (more bool, err error) {
		n, last, err := b.Store.PersonalData().BlankOrders(ctx, sale, after, blankBatch)
		blanked, after = blanked+n, last
		b.orders.Add(n)
		return last != 0, err
	})
	if blanked > 0 {
		slog.InfoContext(ctx, "removed the personal data of a sale", "sale", sale, "orders", blanked)
	}
	if err != nil || quiet {
		return quiet, err
	}
	next := now.Add(idleRecheckAfter)
	if blanked > 0 {
		next = now.Add(recheckAfter)
	}
	_, err = b.Store.PersonalData().PlanBlank(ctx, sale, next)
	return false, err
}

func (b *BlankerJob) deleteGuestAddresses(ctx context.Context, before shop.Millis) error {
	after := shop.ID(0)
	_, err := b.steps(ctx, func() (more bool, err error) {
		_, last, err := b.Store.Addresses().DeleteGuestAddresses(ctx, before, after, blankBatch)
		after = last
		return last != 0, err
	})
	return err
}

// steps runs short transactions with pauses until step returns false. quiet reports that a sale is about to open or has
// just opened.
func (b *BlankerJob) steps(ctx context.Context, step func() (more bool, err error)) (quiet bool, err error) {
	for {
		now, err := b.Store.Clock(ctx)
		if err != nil {
			return false, err
		}
		quiet, err = b.Store.Sales().OpensBetween(ctx, now.At.Add(-quietAfterOpening), now.At.Add(quietBeforeOpening))
		if err != nil || quiet {
			return quiet, err
		}
		began := time.Now()
		if more, err := step(); err != nil || !more {
			return false, err
		}
		if !shop.Sleep(ctx, max(minBlankPause, blankPauseFactor*time.Since(began))) {
			return false, ctx.Err()
		}
	}
}
