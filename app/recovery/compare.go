package recovery

import (
	"context"
	"fmt"

	"stampede/app/shop"
)

// compareTries is how often a sale is compared when its orders end meanwhile.
const compareTries = 3

// compare lets a sale continue unless Redis could sell more units than the database has. Each hold without a fitting
// row becomes a problem. Units that Redis neither holds nor counts as sold were withdrawn by lost commits (refunds,
// operations): they are written off.
//
// After endOrders and writeMissingRows, every row that holds units has its hold. Orders that end meanwhile only
// increase the free units of the database. So after compareTries, the free units before the scan limit how many are
// written off, and the free units after it decide whether the sale is stuck.
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
		err = rr.eachHoldBatch(ctx, sale.Ref(), func(holds []shop.OpenHold) error { return t.add(ctx, holds) })
		if err != nil {
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
	unreturned int64           // units in holds of ended orders: they are returned after the recovery
	withoutRow []shop.OpenHold // their orders have no row
	differing  []shop.Problem  // holds whose rows differ
	revived    []shop.Problem  // holds of ended orders that hold units again
}

func (c *holdComparison) add(ctx context.Context, holds []shop.OpenHold) error {
	ids := shop.Mapped(holds, func(h shop.OpenHold) shop.ID { return h.Order })
	rows, err := c.Store.Orders().OrdersByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	found := shop.ByID(rows)
	for _, h := range holds {
		c.addHold(h, found[h.Order])
	}
	return nil
}

func (c *holdComparison) addHold(h shop.OpenHold, row *shop.Order) {
	switch {
	case row == nil:
		c.withoutRow = append(c.withoutRow, h)
	case row.Qty != h.Qty || row.Sale != c.sale.ID:
		c.differing = append(c.differing, problemOf(row, "it holds %d units of sale %s, but its row belongs to sale %s and has "+
			"%d units", h.Qty, c.sale.ID, row.Sale, row.Qty))
	case row.LostRevival(h):
		c.unreturned += int64(h.Qty)
		c.revived = append(c.revived, problemOf(row, "it is %s and holds %d units again: the database has lost a late payment "+
			"or a replay", row.State, h.Qty))
	case !row.HoldsUnits():
		c.unreturned += int64(h.Qty)
	}
}

func (c *holdComparison) conclude(ctx context.Context, freeBefore, freeAfter int64) error {
	if err := c.queryGatewayAgain(ctx); err != nil {
		return err
	}
	if err := c.addHoldsWithoutRow(ctx, c.sale, c.withoutRow); err != nil {
		return err
	}
	if err := c.addProblems(ctx, append(c.differing, c.revived...)...); err != nil {
		return err
	}
	// notHeld has the units that no order holds according to Redis, now or after the returns.
	notHeld := c.mark.Stock + c.mark.Burnt + c.unreturned
	if freeBefore > notHeld && len(c.withoutRow)+len(c.differing) == 0 {
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
	var stuck string
	if freeAfter < notHeld {
		stuck = fmt.Sprintf("Redis has %d free units, %d of which are taken in the database", c.mark.Stock, notHeld-freeAfter)
		c.reportStuck(c.sale.ID, stuck)
	}
	return c.Redis.Recovery().SetStuck(ctx, c.claim, c.sale.Ref(), stuck)
}

// queryGatewayAgain schedules an early gateway query for orders that hold units again, because a late payment may have
// revived these orders.
func (c *holdComparison) queryGatewayAgain(ctx context.Context) error {
	if len(c.revived) == 0 {
		return nil
	}
	checks := make(map[shop.ID]shop.Millis, len(c.revived))
	for _, problem := range c.revived {
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
