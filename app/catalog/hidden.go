package catalog

import (
	"context"

	"stampede/app/shop"
)

// Offered is Sale for shoppers. NotFound: the sale is hidden, or the token is bound to another one (see BoundTo).
func (c *Catalogue) Offered(ctx context.Context, id shop.ID) (*shop.Sale, error) {
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
