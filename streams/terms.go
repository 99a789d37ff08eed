package streams

import (
	"context"
	"fmt"

	"stampede/app"
)

// SetTerms makes what an operator decided about a sale count for buys. See app.SaleKeeper.
func (l *Inventory) SetTerms(ctx context.Context, s *app.Sale) error {
	_, err := l.run(ctx, termsScript, s.Partition, saleKeys(s.ID), l.Epoch(s.Partition),
		s.Version, s.PriceFen, s.Limit, s.Cap,
		int64(s.OpensAt), int64(s.ClosesAt), s.Paused, s.Added, restAfterEmpty.Milliseconds())
	if err != nil {
		return fmt.Errorf("set the terms of sale %s: %w", s.ID, err)
	}
	return nil
}

// Terms reads by what a sale sells. See app.Inventory.
func (l *Inventory) Terms(ctx context.Context, sale app.SaleRef) (app.SaleTerms, error) {
	terms := app.SaleTerms{ID: sale.ID}
	k, err := l.keys(sale.Partition)
	if err != nil {
		return terms, err
	}
	values, err := l.client.HMGet(ctx, k.sale(sale.ID), "version", "price", "limit", "cap", "opens", "closes", "paused",
		"initial", "added").Result()
	if err != nil {
		return terms, fmt.Errorf("read the terms of sale %s: %w", sale.ID, transient(err))
	}
	if values[0] == nil {
		return terms, fmt.Errorf("%w: sale %s is not in Redis", app.ErrLost, sale.ID)
	}
	n := func(i int) int64 { return number(text(values[i])) }
	terms.Version, terms.PriceFen, terms.Limit, terms.Cap = n(0), n(1), int(n(2)), int(n(3))
	terms.OpensAt, terms.ClosesAt, terms.Paused = app.Millis(n(4)), app.Millis(n(5)), n(6) == 1
	terms.Initial, terms.Added = n(7), n(8)
	return terms, nil
}

// TakeOut takes free units out of a sale for good, once for each act. See app.SaleKeeper.
func (l *Inventory) TakeOut(ctx context.Context, sale app.SaleRef, act, units int64) (taken, epoch int64, err error) {
	if _, err := l.keys(sale.Partition); err != nil {
		return 0, 0, err
	}
	epoch = l.Epoch(sale.Partition) // once: the script decides under the very epoch that is answered
	reply, err := l.run(ctx, takeOutScript, sale.Partition, saleKeys(sale.ID), epoch, act, units)
	if err != nil {
		return 0, 0, fmt.Errorf("take units out of sale %s: %w", sale.ID, err)
	}
	return integer(reply[1]), epoch, nil
}
