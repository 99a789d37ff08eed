package backoffice

import (
	"context"
	"fmt"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// AddGuests returns the tokens of n new guests, 1 to shop.MaxGuests, each bound to the hidden sale (see shop.BoundTo).
// NotFound: no such sale. WrongState: the sale is not hidden. Conflict: this idempotency key has already added guests;
// tokens are not stored.
func (ss *SaleService) AddGuests(ctx context.Context, actor journal.Actor, sale shop.ID, n int) ([]string, error) {
	if n < 1 || n > shop.MaxGuests {
		return nil, shop.Failf(shop.BadRequest, "guests must be from 1 to %d", shop.MaxGuests)
	}
	s, err := ss.Store.Sales().Sale(ctx, sale)
	if err != nil {
		return nil, shop.Unavailable("the sale", notFound("sale", sale, err))
	}
	if !s.Hidden {
		return nil, shop.Fail(shop.WrongState, "only a hidden sale has guests")
	}
	done, err := ss.Store.RunOperation(ctx, actor, func(*store.Store) (journal.Operation, error) {
		return journal.Operation{Kind: "sale.add_guests", Object: object("sale", sale), After: map[string]int{"guests": n}}, nil
	})
	if err != nil {
		return nil, err
	}
	if done.Repeated {
		return nil, shop.Fail(shop.Conflict, "guests were already added with this Idempotency-Key: use another key for more guests")
	}
	tokens := make([]string, n)
	for i := range tokens {
		if tokens[i], err = ss.Guest(sale); err != nil {
			return nil, fmt.Errorf("issue a guest token: %w", err)
		}
	}
	return tokens, nil
}
