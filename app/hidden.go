package app

import (
	"context"
	"fmt"
)

// A hidden slot is in no list, and its sales are hidden. Only a guest token that is bound to a hidden sale
// (SaleDesk.AddGuests) can watch it and buy in it; every other caller gets not_found. Its orders cannot be paid.
// Reports, board totals and the stream of paid orders exclude it.

type boundKey struct{}

// BoundTo returns a context for an operation of who: if the token is bound to a sale, Offered finds no other one.
func BoundTo(ctx context.Context, who *Identity) context.Context {
	if who.Sale == 0 {
		return ctx
	}
	return context.WithValue(ctx, boundKey{}, who.Sale)
}

// boundSale is the sale that the token of a context is bound to; 0: none.
func boundSale(ctx context.Context) ID {
	sale, _ := ctx.Value(boundKey{}).(ID)
	return sale
}

// Offered is Sale for shoppers. NotFound: the sale is hidden, or the token is bound to another one (see BoundTo).
func (c *Catalogue) Offered(ctx context.Context, id ID) (*Sale, error) {
	bound := boundSale(ctx)
	if bound != 0 && bound != id {
		return nil, errNoSale
	}
	sale, err := c.Sale(ctx, id)
	if err == nil && sale.Hidden && bound == 0 {
		return nil, errNoSale
	}
	return sale, err
}

// errNoSale is the one error for sales that do not exist and for hidden ones, so that callers cannot tell them apart.
var errNoSale = Fail(NotFound, "no such sale")

// IsHidden reports whether a sale that this node has read is hidden. It never reads from the database.
func (c *Catalogue) IsHidden(id ID) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	sale := c.known.sales[id]
	return sale != nil && sale.Hidden
}

// MaxGuests is how many guests AddGuests adds at once.
const MaxGuests = 1000

// AddGuests returns the tokens of n new guests, 1 to MaxGuests, each bound to the hidden sale (see BoundTo). NotFound:
// there is no such sale. WrongState: it is not hidden. Conflict: this key has added guests before; tokens are not
// stored.
func (d *SaleDesk) AddGuests(ctx context.Context, actor Actor, sale ID, n int) ([]string, error) {
	if n < 1 || n > MaxGuests {
		return nil, failf(BadRequest, "guests must be from 1 to %d", MaxGuests)
	}
	s, err := d.Sales.Sale(ctx, sale)
	if err != nil {
		return nil, Unreadable("the sale", missing("sale", sale, err))
	}
	if !s.Hidden {
		return nil, Fail(WrongState, "only a hidden sale has guests of its own")
	}
	done, err := d.Journal.Act(ctx, actor, func(context.Context) (Act, error) {
		return Act{Kind: "sale.add_guests", Object: object("sale", sale), After: map[string]int{"guests": n}}, nil
	})
	if err != nil {
		return nil, err
	}
	if done.Repeated {
		return nil, Fail(Conflict, "guests were added under this key before: use another key for more")
	}
	tokens := make([]string, n)
	for i := range tokens {
		if tokens[i], err = d.Guest(sale); err != nil {
			return nil, fmt.Errorf("issue a guest token: %w", err)
		}
	}
	return tokens, nil
}
