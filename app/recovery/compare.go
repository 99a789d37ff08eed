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
func (p *recoveryRun) compare(ctx context.Context, sale *shop.Sale) error {
	for try := 1; ; try++ {
		before, err := p.Store.Sales().FreeUnits(ctx, []shop.ID{sale.ID})
		if err != nil {
			return err
		}
		t := holdComparison{recoveryRun: p, sale: sale}
		if t.mark, err = p.Redis.Stock().HoldsMark(ctx, sale.Ref()); err != nil {
			return err
		}
		if !t.mark.Loaded { // the sale has left Redis
			return nil
		}
		sameUnits := t.mark.Initial+t.mark.Added == sale.Initial+sale.Added
		if p.stuck[sale.ID] == "" && sameUnits && before[sale.ID] == t.mark.Stock+t.mark.Burnt {
			return p.Redis.Recovery().SetStuck(ctx, p.claim, sale.Ref(), "")
		}
		if err := t.run(ctx); err != nil {
			return err
		}
		after, err := p.Store.Sales().FreeUnits(ctx, []shop.ID{sale.ID})
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

func (t *holdComparison) run(ctx context.Context) error {
	return t.eachHoldBatch(ctx, t.sale.Ref(), func(holds []shop.OpenHold) error {
		ids := make([]shop.ID, len(holds))
		for i, h := range holds {
			ids[i] = h.Order
		}
		rows, err := t.Store.Orders().OrdersByID(ctx, ids)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		found := make(map[shop.ID]*shop.Order, len(rows))
		for i := range rows {
			found[rows[i].ID] = &rows[i]
		}
		for _, h := range holds {
			t.addHold(h, found[h.Order])
		}
		return nil
	})
}

func (t *holdComparison) addHold(h shop.OpenHold, row *shop.Order) {
	switch {
	case row == nil:
		t.problems = append(t.problems, Problem{t.sale.ID, h.Order, fmt.Sprintf(
			"it holds %d units and has no row, and the stream has no entry that could become one", h.Qty)})
	case row.Qty != h.Qty || row.Sale != t.sale.ID:
		t.problems = append(t.problems, Problem{t.sale.ID, h.Order, fmt.Sprintf(
			"it holds %d units, but its row belongs to sale %s and has %d units", h.Qty, row.Sale, row.Qty)})
	case row.LostRevival(h):
		t.unreturned += int64(h.Qty)
		t.harmless = append(t.harmless, Problem{t.sale.ID, h.Order, fmt.Sprintf(
			"it is %s and holds %d units again: the database has lost a late payment or a replay", row.State, h.Qty)})
	case !row.HoldsUnits():
		t.unreturned += int64(h.Qty)
	}
}

func (t *holdComparison) conclude(ctx context.Context, freeBefore, freeAfter int64) error {
	t.report.Problems = append(t.report.Problems, t.harmless...)
	if err := t.queryGatewayAgain(ctx); err != nil {
		return err
	}
	for _, problem := range t.problems {
		t.markStuck(problem.Sale, problem.Order, "%s", problem.Text)
	}
	// notHeld has the units that no order holds according to Redis, now or after the returns.
	notHeld := t.mark.Stock + t.mark.Burnt + t.unreturned
	if freeBefore > notHeld && t.stuck[t.sale.ID] == "" {
		pendingUnits, err := t.pendingUnits(ctx)
		if err != nil {
			return err
		}
		if excess := freeBefore - notHeld - pendingUnits; excess > 0 {
			if err := t.Store.Sales().WriteOff(ctx, t.sale.ID, excess, t.claim); err != nil {
				return err
			}
		}
	}
	if freeAfter < notHeld {
		t.markStuck(t.sale.ID, 0, "Redis has %d free units, %d of which are taken in the database", t.mark.Stock,
			notHeld-freeAfter)
	}
	return t.Redis.Recovery().SetStuck(ctx, t.claim, t.sale.Ref(), t.stuck[t.sale.ID])
}

// queryGatewayAgain schedules an early gateway query for orders that hold units again, because a late payment may have
// revived these orders.
func (t *holdComparison) queryGatewayAgain(ctx context.Context) error {
	if len(t.harmless) == 0 {
		return nil
	}
	checks := make(map[shop.ID]shop.Millis, len(t.harmless))
	for _, problem := range t.harmless {
		checks[problem.Order] = t.closedAt
	}
	return t.Store.Payments().CheckTrades(ctx, t.closedAt, checks)
}

// pendingUnits returns how many units only one store counts for pending operations: Redis has taken out units for a
// withdrawal that the database has not settled, or the database has added units that Redis has not added.
func (t *holdComparison) pendingUnits(ctx context.Context) (units int64, err error) {
	totals, err := t.Store.Sales().SaleTotals(ctx, t.sale.ID)
	if err != nil {
		return 0, err
	}
	units = max(0, totals.Sale.Added-t.mark.Added)
	if len(totals.Pending) == 0 {
		return units, nil
	}
	audit, err := t.Redis.Stock().Audit(ctx, t.sale.Ref())
	if err != nil {
		return 0, err
	}
	for _, id := range totals.Pending {
		units += audit.WithdrawnUnits[id]
	}
	return units, nil
}
