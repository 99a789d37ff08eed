package server

import (
	"context"

	"stampede/app"
)

// saleDesk is where these tools act on sales. It needs Redis, which decides what is free.
func (t *Tools) saleDesk(ctx context.Context) (*app.SaleDesk, error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return nil, err
	}
	warmer := &app.Warmer{Sales: t.stores.db, Inventory: inventory}
	return &app.SaleDesk{
		Journal: t.journal(), Store: t.stores.db, Sales: t.stores.db, Redis: inventory, Inventory: inventory,
		Load: warmer.Ensure,
	}, nil
}

// onSale does something at the desk. Version 0 means the one that the sale has now.
func (t *Tools) onSale(
	ctx context.Context, sale app.ID, a app.SaleAct, do func(d *app.SaleDesk, a app.SaleAct) error,
) error {
	d, err := t.saleDesk(ctx)
	if err != nil {
		return err
	}
	if a.Version == 0 {
		terms, err := d.Terms(ctx, sale)
		if err != nil {
			return err
		}
		a.Version = terms.Version
	}
	return do(d, a)
}

// PauseSale stops the buys of a sale.
func (t *Tools) PauseSale(ctx context.Context, sale app.ID, a app.SaleAct) (terms app.OperatorSale, err error) {
	err = t.onSale(ctx, sale, a, func(d *app.SaleDesk, a app.SaleAct) (err error) {
		terms, err = d.PauseSale(ctx, t.actor, sale, a)
		return err
	})
	return terms, err
}

// ResumeSale lets buys in again.
func (t *Tools) ResumeSale(ctx context.Context, sale app.ID, a app.SaleAct) (terms app.OperatorSale, err error) {
	err = t.onSale(ctx, sale, a, func(d *app.SaleDesk, a app.SaleAct) (err error) {
		terms, err = d.ResumeSale(ctx, t.actor, sale, a)
		return err
	})
	return terms, err
}

// EndSale closes a sale now.
func (t *Tools) EndSale(ctx context.Context, sale app.ID, a app.SaleAct) (terms app.OperatorSale, err error) {
	err = t.onSale(ctx, sale, a, func(d *app.SaleDesk, a app.SaleAct) (err error) {
		terms, err = d.EndSale(ctx, t.actor, sale, a)
		return err
	})
	return terms, err
}

// AddStock puts further units on sale.
func (t *Tools) AddStock(
	ctx context.Context, sale app.ID, a app.SaleAct, units int64,
) (terms app.OperatorSale, err error) {
	err = t.onSale(ctx, sale, a, func(d *app.SaleDesk, a app.SaleAct) (err error) {
		terms, err = d.AddStock(ctx, t.actor, sale, a, units)
		return err
	})
	return terms, err
}

// WithdrawStock takes units out of a sale, at most what is free.
func (t *Tools) WithdrawStock(
	ctx context.Context, sale app.ID, a app.SaleAct, units int64,
) (terms app.OperatorSale, gone app.StockAct, err error) {
	err = t.onSale(ctx, sale, a, func(d *app.SaleDesk, a app.SaleAct) (err error) {
		terms, gone, err = d.WithdrawStock(ctx, t.actor, sale, a, units)
		return err
	})
	return terms, gone, err
}
