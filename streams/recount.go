package streams

import (
	"context"
	"fmt"

	"stampede/app"
)

// markFields are what a mark has beside the counters.
var markFields = append(append([]string{}, counterFields...), "burnt", "moves")

// Mark reads the numbers of a sale together with what changes with each of its holds, in one instant.
func (l *Inventory) Mark(ctx context.Context, sale app.SaleRef) (app.HoldsMark, error) {
	k, err := l.keys(sale.Partition)
	if err != nil {
		return app.HoldsMark{}, err
	}
	epoch := l.Epoch(sale.Partition)
	values, err := l.client.HMGet(ctx, k.sale(sale.ID), markFields...).Result()
	if err != nil {
		return app.HoldsMark{}, fmt.Errorf("read the numbers of sale %s: %w", sale.ID, transient(err))
	}
	n := len(counterFields)
	mark := app.HoldsMark{
		Counters: counters(sale.ID, values[:n]), Burnt: number(text(values[n])), Moves: number(text(values[n+1])),
	}
	mark.Epoch = epoch
	return mark, nil
}

// Correct sets the counters of a sale to what its holds add up to, unless one has changed since the mark. It reports
// whether it did. ErrPermanent: the figures do not add up.
func (l *Inventory) Correct(ctx context.Context, sale app.SaleRef, c app.Correction) (bool, error) {
	reply, err := l.run(ctx, correctScript, sale.Partition, saleKeys(sale.ID), c.At.Epoch, c.At.Tickets, c.At.Moves,
		c.At.Withdrawn, c.Held, c.Sold, c.Stock, restAfterEmpty.Milliseconds())
	if err != nil {
		return false, fmt.Errorf("correct sale %s: %w", sale.ID, err)
	}
	return integer(reply[1]) == 1, nil
}
