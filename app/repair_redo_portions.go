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
	before, agree, err := r.Mover.Agree(ctx, r.Inventory, sale.PortionOf)
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
