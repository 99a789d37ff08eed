package catalog

import (
	"context"

	"stampede/app/shop"
)

// VisibleSale is like Sale, but for shoppers. NotFound: the sale is hidden, or the token is bound to another sale
// (shop.BoundTo).
//
// A hidden slot is in no list, and its sales are hidden. Only a guest token that an operator has bound to a hidden sale
// can watch it and buy in it. Its orders cannot be paid. Reports, board totals and the stream of paid orders exclude
// it.
func (c *Catalogue) VisibleSale(ctx context.Context, id shop.ID) (*shop.Sale, error) {
	bound := shop.BoundSale(ctx)
	if bound != 0 && bound != id {
		return nil, shop.ErrNoSale
	}
	sale, err := c.Sale(ctx, id)
	if err == nil && sale.Hidden && bound == 0 {
		return nil, shop.ErrNoSale
	}
	return sale, err
}

// IsHidden reports whether a sale that this node has read is hidden. It never reads from the database.
func (c *Catalogue) IsHidden(id shop.ID) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	sale := c.known.sales[id]
	return sale != nil && sale.Hidden
}
