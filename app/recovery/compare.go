package recovery

import (
	"context"
	"fmt"

	"stampede/app"
)

// compareTries bounds how often a sale is compared whose orders end meanwhile.
const compareTries = 10

// compare lets a sale go on if each hold has its row and Redis has no more units free than the database. Else the
// sale is stuck until an operator has settled its orders. Units that Redis neither holds nor sells any more were
// withdrawn by commits that are lost (refunds, acts of operators): they are written off.
func (p *pass) compare(ctx context.Context, sale *app.Sale) error {
	for range compareTries {
		before, err := p.Sales.FreeUnits(ctx, []app.ID{sale.ID})
		if err != nil {
			return err
		}
		t := tally{pass: p, sale: sale, seen: make(map[app.ID]bool)}
		if err := t.run(ctx); err != nil {
			return err
		}
		after, err := p.Sales.FreeUnits(ctx, []app.ID{sale.ID})
		if err != nil {
			return err
		}
		if before[sale.ID] == after[sale.ID] {
			return t.conclude(ctx, after[sale.ID])
		}
	}
	return fmt.Errorf("%w: its orders keep ending", app.ErrTransient)
}

// tally is what the holds of a sale and their rows add up to.
type tally struct {
	*pass
	sale     *app.Sale
	mark     app.HoldsMark
	seen     map[app.ID]bool // a walk may meet a hold twice
	owed     int64           // units in holds of orders that have ended: they go back afterwards
	problems []Problem
	keepsOn  []Problem // of them, those that do not stop the sale
}

func (t *tally) run(ctx context.Context) (err error) {
	if t.mark, err = t.Inventory.Mark(ctx, t.sale.Ref()); err != nil || !t.mark.Loaded {
		return err
	}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var holds []app.OpenHold
		if holds, cursor, err = t.Inventory.Holds(ctx, t.sale.Ref(), cursor); err != nil {
			return fmt.Errorf("walk through holds: %w", err)
		}
		ids := make([]app.ID, len(holds))
		for i, h := range holds {
			ids[i] = h.Order
		}
		rows, err := t.Orders.OrdersByID(ctx, ids)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		found := make(map[app.ID]*app.Order, len(rows))
		for i := range rows {
			found[rows[i].ID] = &rows[i]
		}
		for _, h := range holds {
			if !t.seen[h.Order] {
				t.seen[h.Order] = true
				t.hold(h, found[h.Order])
			}
		}
	}
	return nil
}

func (t *tally) hold(h app.OpenHold, row *app.Order) {
	switch {
	case row == nil:
		t.problems = append(t.problems, Problem{t.sale.ID, h.Order, fmt.Sprintf(
			"it holds %d units and has no row, and the stream has no entry that could become one", h.Qty)})
	case row.Qty != h.Qty || row.Sale != t.sale.ID:
		t.problems = append(t.problems, Problem{t.sale.ID, h.Order, fmt.Sprintf(
			"it holds %d units, and its row is one of sale %s over %d", h.Qty, row.Sale, row.Qty)})
	case row.LacksRevival(h):
		t.owed += int64(h.Qty)
		t.keepsOn = append(t.keepsOn, Problem{t.sale.ID, h.Order, fmt.Sprintf(
			"it is %s and holds %d units again, by late money or a replay that the database has lost", row.State, h.Qty)})
	case !row.HoldsUnits():
		t.owed += int64(h.Qty)
	}
}

func (t *tally) conclude(ctx context.Context, free int64) error {
	if !t.mark.Loaded {
		return nil // the sale has left Redis
	}
	t.report.Problems = append(t.report.Problems, t.keepsOn...)
	for _, one := range t.problems {
		t.stop(one.Sale, one.Order, "%s", one.Says)
	}
	excess := free - t.mark.Stock - t.mark.Burnt - t.owed
	if excess > 0 && t.stuck[t.sale.ID] == "" {
		leaving, err := t.leaving(ctx)
		if err != nil {
			return err
		}
		if excess -= leaving; excess > 0 {
			if err := t.Sales.WriteOff(ctx, t.sale.ID, excess, t.claim); err != nil {
				return err
			}
		}
	}
	if excess < 0 {
		t.stop(t.sale.ID, 0, "Redis has %d units free, %d of which the database knows to be taken", t.mark.Stock, -excess)
	}
	return t.Redis.Stick(ctx, t.claim, t.sale.Ref(), t.stuck[t.sale.ID])
}

// leaving is how many units Redis has taken out for withdrawals that the database has not settled.
func (t *tally) leaving(ctx context.Context) (units int64, err error) {
	totals, err := t.Sales.SaleTotals(ctx, t.sale.ID)
	if err != nil || len(totals.Pending) == 0 {
		return 0, err
	}
	audit, err := t.Inventory.Audit(ctx, t.sale.Ref())
	if err != nil {
		return 0, err
	}
	for _, act := range totals.Pending {
		units += audit.Out[act]
	}
	return units, nil
}
