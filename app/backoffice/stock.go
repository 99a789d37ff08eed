package backoffice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// WithdrawStock withdraws up to the number of free units from a sale. A decrease goes to Redis first (I2); the database
// follows.
//
//	COMMIT (pending, journal) ──▶ take_out.lua, once per withdrawal ──▶ COMMIT (withdrawn + taken, done)
//
// The second COMMIT requires the epoch under which Redis decided, because a restored Redis decides again. A recovery
// writes settled withdrawals into Redis (SaleState.Withdrawals), so that a late call does not withdraw twice. After a
// crash SaleFinisherJob completes the withdrawal.
func (ss *SaleService) WithdrawStock(
	ctx context.Context, actor journal.Actor, sale shop.ID, a SaleOperation, units int64,
) (shown OperatorSale, withdrawal shop.StockWithdrawal, err error) {
	if units < 1 || units > maxAdded {
		return shown, withdrawal, shop.Failf(shop.BadRequest, "units must be from 1 to %d", maxAdded)
	}
	if err := journal.CheckNote(a.Note); err != nil {
		return shown, withdrawal, err
	}
	id, err := ss.requestWithdrawal(ctx, actor, sale, a, units)
	if err != nil {
		return shown, withdrawal, ss.conflictWithCounters(ctx, sale, err)
	}
	if withdrawal, err = ss.Store.Withdrawals().Withdrawal(ctx, id); err != nil {
		return shown, withdrawal, shop.Unavailable("the withdrawal", err)
	}
	if settled, err := ss.settle(ctx, withdrawal); err != nil {
		slog.WarnContext(ctx, "units are not withdrawn yet; a background job retries", "act", id, "sale", sale, "err", err)
	} else {
		withdrawal = settled
	}
	ss.PushTerms(ctx, sale)
	terms, err := ss.Terms(ctx, sale)
	if err == nil {
		shown, err = ss.show(ctx, sale, terms)
	}
	return shown, withdrawal, err
}

// requestWithdrawal commits the pending withdrawal and its journal entry, and returns its id.
func (ss *SaleService) requestWithdrawal(
	ctx context.Context, actor journal.Actor, sale shop.ID, a SaleOperation, units int64,
) (int64, error) {
	now, err := ss.ensureLoaded(ctx, sale)
	if err != nil {
		return 0, err
	}
	return store.RunOperationFor[int64](ctx, ss.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		before, err := tx.Sales().LockTerms(ctx, sale, a.Version)
		if err != nil {
			return journal.Operation{}, notFound("sale", sale, err)
		}
		if shop.PhaseAt(now, before.OpensAt, before.ClosesAt) == shop.Ended {
			return journal.Operation{}, shop.Fail(shop.WrongState, "the sale is closed, so its stock can no longer change")
		}
		after := before
		if err := tx.Sales().SaveTerms(ctx, &after); err != nil {
			return journal.Operation{}, err
		}
		withdrawal, err := tx.Withdrawals().AddWithdrawal(ctx, sale, units)
		return journal.Operation{
			Kind: "sale.withdraw_stock", Object: object("sale", sale), Note: a.Note, Result: withdrawal.ID,
			Before: shop.TermsOf(&before), After: struct {
				shop.SaleTerms
				Withdrawal shop.StockWithdrawal `json:"withdrawal"`
			}{shop.TermsOf(&after), withdrawal},
		}, err
	})
}

// ensureLoaded loads the sale into Redis if necessary, because Redis decides about its units. It returns the time of
// Redis.
func (ss *SaleService) ensureLoaded(ctx context.Context, id shop.ID) (shop.Millis, error) {
	now, err := ss.Redis.Now(ctx)
	if err != nil {
		return 0, shop.Unavailable("Redis time", err)
	}
	sale, err := ss.Store.Sales().Sale(ctx, id)
	if err != nil {
		return now, shop.Unavailable("the sale", notFound("sale", id, err))
	}
	if sale.Epoch == 0 {
		err = ss.Load(ctx, id)
	}
	return now, shop.Unavailable("the sale", err)
}

// settle completes a withdrawal; a settled one is returned unchanged.
func (ss *SaleService) settle(ctx context.Context, a shop.StockWithdrawal) (shop.StockWithdrawal, error) {
	if a.State != shop.StockPending {
		return a, nil
	}
	sale, err := ss.Store.Sales().Sale(ctx, a.Sale)
	if err != nil {
		return a, fmt.Errorf("read sale %s: %w", a.Sale, err)
	}
	taken, epoch, err := ss.Redis.Stock().WithdrawUnits(ctx, sale.Ref(), a.ID, a.Units)
	if err != nil {
		return a, err
	}
	return ss.Store.Withdrawals().SettleWithdrawal(ctx, a.ID, taken, epoch)
}

// SaleFinisherJob completes operations on sales after a crash: it sends missing terms to Redis and settles pending
// withdrawals. It resumes the sales that a restore has paused, see store.RestoredSales.
type SaleFinisherJob struct {
	Partitions int
	Service    *SaleService
}

const (
	finishEvery = 2 * time.Second
	finishBatch = 100 // withdrawals
)

// Run calls RunOnce periodically until ctx ends.
func (f *SaleFinisherJob) Run(ctx context.Context) error {
	return shop.Repeat(ctx, finishEvery, "finish operations on sales", f.RunOnce)
}

// RunOnce processes restored sales, all pending withdrawals and outdated terms.
func (f *SaleFinisherJob) RunOnce(ctx context.Context) error {
	resumed, err := f.Service.Store.RestoredSales().Resume(ctx)
	if resumed > 0 {
		slog.InfoContext(ctx, "sales continue after a restore: the gateway's lists were compared", "sales", resumed)
	}
	return errors.Join(err, f.withdrawals(ctx), f.PushTerms(ctx))
}

// PushTerms sends the terms of all sales that have an older version in Redis.
func (f *SaleFinisherJob) PushTerms(ctx context.Context) error {
	var failed []error
	for p := range f.Partitions {
		failed = append(failed, f.terms(ctx, p))
	}
	return errors.Join(failed...)
}

func (f *SaleFinisherJob) withdrawals(ctx context.Context) error {
	pending, err := f.Service.Store.Withdrawals().PendingWithdrawals(ctx, finishBatch)
	if err != nil {
		return fmt.Errorf("list pending withdrawals: %w", err)
	}
	var failed []error
	for _, a := range pending {
		_, err := f.Service.settle(ctx, a)
		if errors.Is(err, shop.ErrLost) { // retired, or lost until a recovery restores it
			_, err = f.Service.Store.Withdrawals().RefuseWithdrawal(ctx, a.ID)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// terms updates the sales of a partition that have an older version in Redis.
func (f *SaleFinisherJob) terms(ctx context.Context, partition int) error {
	sales, err := f.Service.Store.Sales().LoadedSales(ctx, partition)
	if err != nil || len(sales) == 0 {
		return err
	}
	counters, err := f.Service.Redis.Stock().Counters(ctx, shop.RefsOf(shop.Pointers(sales)))
	if err != nil {
		return fmt.Errorf("read the versions of sales: %w", err)
	}
	var failed []error
	for i := range sales {
		if counters[i].Loaded && counters[i].Version < sales[i].Version {
			failed = append(failed, f.Service.Redis.Stock().SetTerms(ctx, &sales[i]))
		}
	}
	return errors.Join(failed...)
}
