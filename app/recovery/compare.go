package recovery

import (
	"context"
	"fmt"

	"stampede/app/shop"
)

// compareTries is how often a sale is compared when its orders end meanwhile.
const compareTries = 3

// compare lets a sale continue if each hold has its row and Redis has at most as many free units as the database.
// Otherwise the sale is stuck until an operator has settled its orders. Units that Redis neither holds nor counts as
// sold were withdrawn by lost commits (refunds, operations): they are written off.
//
// After endOrders and writeMissingRows, every row that holds units has its hold, so equal sums need no scan of the
// holds. Orders that end meanwhile only increase the free units of the database. So after compareTries, the free units
// before the scan limit how many are written off, and the free units after it decide whether the sale is stuck.
func (rr *recoveryRun) compare(ctx context.Context, sale *shop.Sale) error {
	for try := 1; ; try++ {
		before, err := rr.Store.Sales().FreeUnits(ctx, []shop.ID{sale.ID})
		if err != nil {
			return err
		}
		t := holdComparison{recoveryRun: rr, sale: sale}
		if t.mark, err = rr.Redis.Stock().HoldsMark(ctx, sale.Ref()); err != nil {
			return err
		}
		if !t.mark.Loaded { // the sale has left Redis
			return nil
		}
		sameUnits := t.mark.Initial+t.mark.Added == sale.Initial+sale.Added
		if rr.stuck[sale.ID] == "" && sameUnits && before[sale.ID] == t.mark.Stock+t.mark.Burnt {
			return rr.Redis.Recovery().SetStuck(ctx, rr.claim, sale.Ref(), "")
		}
		if err := t.run(ctx); err != nil {
			return err
		}
		after, err := rr.Store.Sales().FreeUnits(ctx, []shop.ID{sale.ID})
		if err != nil {
			return err
		}
		if try == compareTries || before[sale.ID] == after[sale.ID] {
			return t.conclude(ctx, before[sale.ID], after[sale.ID])
		}
	}
}

// holdComparison adds up the holds of a sale and compares them with their rows.
type holdComparison struct {
	*recoveryRun
	sale       *shop.Sale
	mark       shop.HoldsMark
	unreturned int64 // units in holds of ended orders: they are returned after the recovery
	problems   []Problem
	harmless   []Problem // problems that do not stop the sale
}

func (c *holdComparison) run(ctx context.Context) error {
	return c.eachHoldBatch(ctx, c.sale.Ref(), func(holds []shop.OpenHold) error {
		ids := make([]shop.ID, len(holds))
		for i, h := range holds {
			ids[i] = h.Order
		}
		rows, err := c.Store.Orders().OrdersByID(ctx, ids)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		found := make(map[shop.ID]*shop.Order, len(rows))
		for i := range rows {
			found[rows[i].ID] = &rows[i]
		}
		for _, h := range holds {
			c.addHold(h, found[h.Order])
		}
		return nil
	})
}

func (c *holdComparison) addHold(h shop.OpenHold, row *shop.Order) {
	switch {
	case row == nil:
		c.problems = append(c.problems, Problem{c.sale.ID, h.Order, fmt.Sprintf(
			"it holds %d units and has no row, and the stream has no entry that could become one", h.Qty)})
	case row.Qty != h.Qty || row.Sale != c.sale.ID:
		c.problems = append(c.problems, Problem{c.sale.ID, h.Order, fmt.Sprintf(
			"it holds %d units, but its row belongs to sale %s and has %d units", h.Qty, row.Sale, row.Qty)})
	case row.LostRevival(h):
		c.unreturned += int64(h.Qty)
		c.harmless = append(c.harmless, Problem{c.sale.ID, h.Order, fmt.Sprintf(
			"it is %s and holds %d units again: the database has lost a late payment or a replay", row.State, h.Qty)})
	case !row.HoldsUnits():
		c.unreturned += int64(h.Qty)
	}
}

func (c *holdComparison) conclude(ctx context.Context, freeBefore, freeAfter int64) error {
	c.report.Problems = append(c.report.Problems, c.harmless...)
	if err := c.queryGatewayAgain(ctx); err != nil {
		return err
	}
	for _, problem := range c.problems {
		c.markStuck(problem.Sale, problem.Order, "%s", problem.Text)
	}
	// notHeld has the units that no order holds according to Redis, now or after the returns.
	notHeld := c.mark.Stock + c.mark.Burnt + c.unreturned
	if freeBefore > notHeld && c.stuck[c.sale.ID] == "" {
		pendingUnits, err := c.pendingUnits(ctx)
		if err != nil {
			return err
		}
		if excess := freeBefore - notHeld - pendingUnits; excess > 0 {
			if err := c.beginDoubt(ctx); err != nil {
				return err
			}
			if err := c.Store.Sales().WriteOff(ctx, c.sale.ID, excess, c.claim); err != nil {
				return err
			}
		}
	}
	if freeAfter < notHeld {
		c.markStuck(c.sale.ID, 0, "Redis has %d free units, %d of which are taken in the database", c.mark.Stock,
			notHeld-freeAfter)
	}
	return c.Redis.Recovery().SetStuck(ctx, c.claim, c.sale.Ref(), c.stuck[c.sale.ID])
}

// queryGatewayAgain schedules an early gateway query for orders that hold units again, because a late payment may have
// revived these orders.
func (c *holdComparison) queryGatewayAgain(ctx context.Context) error {
	if len(c.harmless) == 0 {
		return nil
	}
	checks := make(map[shop.ID]shop.Millis, len(c.harmless))
	for _, problem := range c.harmless {
		checks[problem.Order] = c.closedAt
	}
	return c.Store.Payments().CheckTrades(ctx, c.closedAt, checks)
}

// pendingUnits returns how many units only one store counts for pending operations: Redis has taken out units for a
// withdrawal that the database has not settled, or the database has added units that Redis has not added.
func (c *holdComparison) pendingUnits(ctx context.Context) (units int64, err error) {
	totals, err := c.Store.Sales().SaleTotals(ctx, c.sale.ID)
	if err != nil {
		return 0, err
	}
	units = max(0, totals.Sale.Added-c.mark.Added)
	if len(totals.Pending) == 0 {
		return units, nil
	}
	audit, err := c.Redis.Stock().Audit(ctx, c.sale.Ref())
	if err != nil {
		return 0, err
	}
	for _, id := range totals.Pending {
		units += audit.WithdrawnUnits[id]
	}
	return units, nil
}
