package app

import (
	"context"
	"errors"
	"fmt"
)

// portions gives each portion of a spread sale the units that it has in Redis, once: whichever partition of the sale is
// looked at first does it for all of them.
func (r *Redo) portions(ctx context.Context, sale *Sale, report *RedoReport) error {
	if sale.PortionOf == 0 {
		return nil
	}
	before, agree, err := r.agree(ctx, sale.PortionOf)
	if err != nil || agree {
		return err
	}
	err = r.Mover.Recount(ctx, sale.PortionOf)
	if surplus := (*SurplusError)(nil); errors.As(err, &surplus) {
		report.lacks(sale.PortionOf, 0, fmt.Sprintf("its portions have %d units more in Redis than the sale has, so the last "+
			"buyers may be refused: rebuild its partitions", surplus.Units))
		return nil
	}
	if err != nil {
		return fmt.Errorf("count the portions of sale %s: %w", sale.PortionOf, err)
	}
	after, err := r.Sales.Sale(ctx, sale.PortionOf)
	if err != nil {
		return fmt.Errorf("read sale %s: %w", sale.PortionOf, err)
	}
	for i := range after.Portions {
		report.Moved += max(0, after.Portions[i].Initial-before.Portions[i].Initial)
	}
	return nil
}

// agree reports whether the rows of the portions say what Redis says, and no move is under way. Whoever cannot tell
// counts.
func (r *Redo) agree(ctx context.Context, id ID) (sale Sale, agree bool, err error) {
	before, err := r.Mover.Store.Move(ctx, id)
	if err != nil {
		return sale, false, fmt.Errorf("read the move of sale %s: %w", id, err)
	}
	if sale, err = r.Sales.Sale(ctx, id); err != nil {
		return sale, false, fmt.Errorf("read sale %s: %w", id, err)
	}
	counters, err := r.Inventory.Counters(ctx, sale.Refs())
	if err != nil {
		return sale, false, fmt.Errorf("read the portions of sale %s: %w", id, err)
	}
	after, err := r.Mover.Store.Move(ctx, id)
	if err != nil {
		return sale, false, fmt.Errorf("read the move of sale %s: %w", id, err)
	}
	agree = before.settledLike(after)
	for i, c := range counters {
		agree = agree && (!c.Loaded || c.Initial == sale.Portions[i].Initial)
	}
	return sale, agree, nil
}

// nameSales has what is missing named by sales that people know, not by their portions.
func (r *RedoReport) nameSales(rows []Sale) {
	for i := range rows {
		for n := range r.Missing {
			if m := &r.Missing[n]; rows[i].IsPortion() && m.Sale == rows[i].ID {
				m.Sale = rows[i].PortionOf
			}
		}
	}
}
