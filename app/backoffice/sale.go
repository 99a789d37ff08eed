package backoffice

import (
	"context"
	"errors"
	"log/slog"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

// OperatorSale is a sale after an operation: its terms and its current counters.
type OperatorSale struct {
	shop.SaleTerms
	Slot        shop.ID    `json:"slot"`
	ProductName string     `json:"product_name"`
	Phase       shop.Phase `json:"phase"`
	Stock       int64      `json:"stock"`
	Held        int64      `json:"held"`
	Sold        int64      `json:"sold"`
}

// SaleService changes a sale while buyers buy. A decision is committed first; then it is sent to Redis. If Redis is
// unreachable or this process dies, the SaleFinisherJob of any node sends it:
//
//	COMMIT (terms, version + 1, journal) ──▶ terms.lua, by version ──▶ ticks and `sale` events
//
// Units are added in the same order: the guard of the database has new units before Redis sells them (I2). Units are
// withdrawn in the opposite order, see WithdrawStock.
type SaleService struct {
	Store *store.Store
	Redis *streams.Inventory
	// Load loads a sale into Redis that was never there.
	Load func(ctx context.Context, sale shop.ID) error
	// Guest issues the token of a new guest that is bound to the sale.
	Guest func(sale shop.ID) (string, error)
}

// SaleOperation is an operator's request to change a sale.
type SaleOperation struct {
	Version int64
	Note    string
}

// Terms reads the terms of a sale. NotFound: no such sale.
func (ss *SaleService) Terms(ctx context.Context, sale shop.ID) (shop.SaleTerms, error) {
	s, err := ss.Store.Sales().Sale(ctx, sale)
	return shop.TermsOf(&s), shop.Unavailable("the sale", notFound("sale", sale, err))
}

// PauseSale stops buys. Holds stay valid and orders can still be paid.
func (ss *SaleService) PauseSale(
	ctx context.Context, actor journal.Actor, sale shop.ID, a SaleOperation,
) (OperatorSale, error) {
	return ss.edit(ctx, actor, "sale.pause", sale, a, func(s *shop.Sale, _ shop.Millis) error {
		if s.Paused {
			return shop.Fail(shop.WrongState, "the sale is already paused")
		}
		s.Paused = true
		return nil
	})
}

// ResumeSale allows buys again.
func (ss *SaleService) ResumeSale(
	ctx context.Context, actor journal.Actor, sale shop.ID, a SaleOperation,
) (OperatorSale, error) {
	return ss.edit(ctx, actor, "sale.resume", sale, a, func(s *shop.Sale, _ shop.Millis) error {
		if !s.Paused {
			return shop.Fail(shop.WrongState, "the sale is not paused")
		}
		s.Paused = false
		return nil
	})
}

// EndSale closes an open sale, or a hidden one before it opens. Unpaid orders keep their payment deadline.
func (ss *SaleService) EndSale(
	ctx context.Context, actor journal.Actor, sale shop.ID, a SaleOperation,
) (OperatorSale, error) {
	return ss.edit(ctx, actor, "sale.end", sale, a, func(s *shop.Sale, now shop.Millis) error {
		switch shop.PhaseAt(now, s.OpensAt, s.ClosesAt) {
		case shop.Upcoming:
			if s.Hidden {
				s.OpensAt, s.ClosesAt = now-1, now
				return nil
			}
			return shop.Fail(shop.WrongState, "the sale is not open yet; only an open sale can be ended")
		case shop.Open:
			s.ClosesAt = max(now, s.OpensAt+1)
			return nil
		default:
			return shop.Fail(shop.WrongState, "the sale is already closed")
		}
	})
}

// SetSaleChallenge changes the challenge that buyers of a sale must solve.
func (ss *SaleService) SetSaleChallenge(
	ctx context.Context, actor journal.Actor, sale shop.ID, a SaleOperation, c shop.Challenge,
) (OperatorSale, error) {
	if _, err := shop.ParseChallenge(string(c)); err != nil {
		return OperatorSale{}, err
	}
	return ss.edit(ctx, actor, "sale.challenge", sale, a, func(s *shop.Sale, _ shop.Millis) error {
		s.Challenge = c
		return nil
	})
}

// maxAdded limits the units of one operation: a typing error must not be sold.
const maxAdded = 1_000_000

// AddStock adds units to a sale.
func (ss *SaleService) AddStock(
	ctx context.Context, actor journal.Actor, sale shop.ID, a SaleOperation, units int64,
) (OperatorSale, error) {
	if units < 1 || units > maxAdded {
		return OperatorSale{}, shop.Failf(shop.BadRequest, "units must be from 1 to %d", maxAdded)
	}
	return ss.edit(ctx, actor, "sale.add_stock", sale, a, func(s *shop.Sale, now shop.Millis) error {
		if shop.PhaseAt(now, s.OpensAt, s.ClosesAt) == shop.Ended {
			return shop.Fail(shop.WrongState, "the sale is closed, so its stock can no longer change")
		}
		s.Added += units
		return nil
	})
}

// edit performs an operation that changes the terms of a sale.
func (ss *SaleService) edit(
	ctx context.Context, actor journal.Actor, kind string, sale shop.ID, a SaleOperation,
	change func(s *shop.Sale, now shop.Millis) error,
) (OperatorSale, error) {
	if err := journal.CheckNote(a.Note); err != nil {
		return OperatorSale{}, err
	}
	now, err := ss.Redis.Now(ctx)
	if err != nil {
		return OperatorSale{}, shop.Unavailable("Redis time", err)
	}
	terms, err := store.RunOperationFor[shop.SaleTerms](ctx, ss.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			before, err := tx.Sales().LockTerms(ctx, sale, a.Version)
			if err != nil {
				return journal.Operation{}, notFound("sale", sale, err)
			}
			after := before
			if err := change(&after, now); err != nil {
				return journal.Operation{}, err
			}
			err = tx.Sales().SaveTerms(ctx, &after)
			terms := shop.TermsOf(&after)
			return journal.Operation{
				Kind: kind, Object: object("sale", sale), Before: shop.TermsOf(&before), After: terms, Note: a.Note,
				Result: terms,
			}, err
		})
	if err != nil {
		return OperatorSale{}, ss.conflictWithCounters(ctx, sale, err)
	}
	ss.PushTerms(ctx, sale)
	return ss.show(ctx, sale, terms)
}

// show combines the terms with the counters of Redis. If the sale is not loaded, all its units are free.
func (ss *SaleService) show(ctx context.Context, id shop.ID, terms shop.SaleTerms) (OperatorSale, error) {
	sale, err := ss.Store.Sales().Sale(ctx, id)
	if err != nil {
		return OperatorSale{}, shop.Unavailable("the sale", notFound("sale", id, err))
	}
	shown := OperatorSale{
		SaleTerms: terms, Slot: sale.Slot, ProductName: sale.Product.Name,
		Stock: terms.Initial + terms.Added - terms.Withdrawn,
	}
	now, err := ss.Redis.Now(ctx)
	if err != nil {
		return shown, shop.Unavailable("Redis time", err)
	}
	shown.Phase = shop.PhaseAt(now, terms.OpensAt, terms.ClosesAt)
	counters, err := ss.Redis.Stock().Counters(ctx, []shop.SaleRef{sale.Ref()})
	if err != nil {
		return shown, shop.Unavailable("the sale", err)
	}
	if c := counters[0]; c.Loaded {
		shown.Stock, shown.Held, shown.Sold = c.Stock, c.Held, c.Sold
	}
	return shown, nil
}

// conflictWithCounters replaces the terms in a conflict by the sale with its counters.
func (ss *SaleService) conflictWithCounters(ctx context.Context, id shop.ID, err error) error {
	var conflict *shop.Error
	if errors.As(err, &conflict) {
		if terms, is := conflict.Current.(shop.SaleTerms); is {
			if shown, failed := ss.show(ctx, id, terms); failed == nil {
				return journal.Changed("the sale", shown)
			}
		}
	}
	return err
}

// PushTerms sends the terms of sales to Redis. The terms are committed; SaleFinisherJob repeats failed calls.
func (ss *SaleService) PushTerms(ctx context.Context, sales ...shop.ID) {
	for _, id := range sales {
		sale, err := ss.Store.Sales().Sale(ctx, id)
		if err == nil && sale.Epoch != 0 {
			err = ss.Redis.Stock().SetTerms(ctx, &sale)
		}
		if err != nil {
			slog.WarnContext(ctx, "the terms of a sale are not in Redis yet; a background job retries", "sale", id, "err", err)
		}
	}
}
