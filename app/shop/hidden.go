package shop

import (
	"context"
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
func BoundSale(ctx context.Context) ID {
	sale, _ := ctx.Value(boundKey{}).(ID)
	return sale
}

// errNoSale is the one error for sales that do not exist and for hidden ones, so that callers cannot tell them apart.
var ErrNoSale = Fail(NotFound, "no such sale")

// MaxGuests is how many guests AddGuests adds at once.
const MaxGuests = 1000
