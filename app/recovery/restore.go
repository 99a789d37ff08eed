package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"stampede/app/shop"
)

func (rr *recoveryRun) restoreAll(ctx context.Context) error {
	publishedUntil, err := rr.Store.Partitions().PublishedUntil(ctx, rr.partition)
	if err != nil {
		return fmt.Errorf("read the publish mark: %w", err)
	}
	return rr.eachSale(ctx, "restore", func(ctx context.Context, sale *shop.Sale) error {
		return rr.restore(ctx, sale, publishedUntil)
	})
}

// restore writes a sale into Redis from its rows, deadlines included. Held, sold and withdrawn units are summed from
// the same rows that become the holds: a row that changes later keeps its hold until the effects of the change release
// the hold. All tickets count as settled: an order without a row was lost or was written again.
func (rr *recoveryRun) restore(ctx context.Context, sale *shop.Sale, publishedUntil shop.Millis) error {
	if err := rr.importWithdrawals(ctx, sale); err != nil {
		return fmt.Errorf("import withdrawals: %w", err)
	}
	// No withdrawal is settled under the old epoch any longer, and none is decided before the partition is open again.
	withdrawals, err := rr.Store.Sales().SettledWithdrawals(ctx, sale.ID)
	if err != nil {
		return fmt.Errorf("read withdrawals: %w", err)
	}
	state := shop.SaleState{Sale: sale, Withdrawn: sale.Withdrawn, Withdrawals: withdrawals}
	err = rr.eachPage(ctx, sale, func(page []shop.Order) error {
		addOrders(&state, page)
		return rr.touchNewRows(ctx, page, publishedUntil)
	})
	if err != nil {
		return err
	}
	if err := rr.keepHolds(ctx, &state); err != nil {
		return fmt.Errorf("keep holds without a row: %w", err)
	}
	state.Stock = sale.Initial + sale.Added - state.Held - state.Sold - state.Withdrawn
	if state.Stock < 0 { // the cause is a hold without a row; for rows, the guard makes this impossible
		state.BlockedReason = fmt.Sprintf("%d more units are taken than exist", -state.Stock)
		state.Stock = 0
		rr.reportStuck(sale.ID, state.BlockedReason)
		slog.ErrorContext(ctx, "a sale is stuck", "sale", sale.ID, "why", state.BlockedReason)
	}
	if err := rr.Redis.Recovery().Restore(ctx, rr.claim, state); err != nil {
		return err
	}
	return rr.Redis.Queue().Schedule(ctx, sale.Partition, deadlines(&state))
}

// importWithdrawals writes off the units that operators' withdrawals took in Redis and that the database has lost. The
// rows of all orders are written, so that the units fit. A pending withdrawal is decided again.
func (rr *recoveryRun) importWithdrawals(ctx context.Context, sale *shop.Sale) error {
	audit, err := rr.Redis.Stock().Audit(ctx, sale.Ref())
	if err != nil {
		return err
	}
	totals, err := rr.Store.Sales().SaleTotals(ctx, sale.ID)
	if err != nil {
		return err
	}
	lost := -sale.Withdrawn
	for id, units := range audit.WithdrawnUnits {
		if !slices.Contains(totals.Pending, id) {
			lost += units
		}
	}
	if lost <= 0 {
		return nil
	}
	if err := rr.beginDoubt(ctx); err != nil {
		return err
	}
	if err := rr.Store.Sales().WriteOff(ctx, sale.ID, lost, rr.claim); err != nil {
		return err
	}
	sale.Withdrawn += lost
	rr.report.Imported++
	slog.WarnContext(ctx, "wrote off withdrawn units that the database had lost", "sale", sale.ID, "units", lost)
	return nil
}

// keepHolds keeps the units of orders without a row until an operator has settled these orders.
func (rr *recoveryRun) keepHolds(ctx context.Context, s *shop.SaleState) error {
	hasRow := make(map[shop.ID]bool, len(s.Orders))
	for i := range s.Orders {
		hasRow[s.Orders[i].ID] = true
	}
	err := rr.eachHoldBatch(ctx, s.Sale.Ref(), func(holds []shop.OpenHold) error {
		holds = slices.DeleteFunc(holds, func(h shop.OpenHold) bool { return hasRow[h.Order] })
		return rr.addHoldsWithoutRow(ctx, s.Sale, holds)
	})
	if err != nil {
		return err
	}
	open, err := rr.Store.Problems().Open(ctx, rr.partition)
	for i := range open {
		if p := &open[i]; p.Sale == s.Sale.ID && p.Entry != nil && !hasRow[p.Order] {
			addOrders(s, []shop.Order{p.Entry.Row()})
		}
	}
	return err
}

// addHoldsWithoutRow adds the problems of holds whose orders have no row and no entry. Buyer, key and ticket come from
// the records of the buyers, and the price from the sale.
func (rr *recoveryRun) addHoldsWithoutRow(ctx context.Context, sale *shop.Sale, holds []shop.OpenHold) error {
	if len(holds) == 0 {
		return nil
	}
	entries, err := rr.Redis.Recovery().Records(ctx, sale.Ref(), holds)
	if err != nil {
		return err
	}
	problems := make([]shop.Problem, len(entries))
	for i := range entries {
		e := &entries[i]
		e.PriceFen, e.SaleVersion, e.ReservedAt = sale.PriceFen, sale.Version, rr.closedAt
		problems[i] = shop.Problem{
			Sale: sale.ID, Order: e.Order, User: e.User, Entry: e,
			Text: fmt.Sprintf("it holds %d units and has no row, and the stream has no entry that could become one", e.Qty),
		}
	}
	return rr.addProblems(ctx, problems...)
}

// addOrders adds the orders to the state, and adds their units to the counters according to their rows.
func addOrders(s *shop.SaleState, orders []shop.Order) {
	for i := range orders {
		o := &orders[i]
		s.Tickets = max(s.Tickets, o.Ticket)
		switch units := int64(o.Qty); {
		case !o.HoldsUnits():
		case o.State == shop.Refunded:
			s.Withdrawn += units
		case o.State.Sold():
			s.Sold += units
		default:
			s.Held += units
		}
	}
	s.Orders = append(s.Orders, orders...)
}

func deadlines(s *shop.SaleState) []shop.Deadline {
	var due []shop.Deadline
	for i := range s.Orders {
		if o := &s.Orders[i]; o.State == shop.Pending {
			due = append(due, shop.Deadline{Order: o.ID, PayBy: o.PayBy})
		}
	}
	return due
}

// touchNewRows sets the change time of rows to now if their first state may be unpublished: only the acknowledged entry
// proves the publication, and Redis has lost the entries. In the new epoch, every node reads the changed rows, and
// clients that reconnect find them. A client that has received the state recognizes it by its rev.
func (rr *recoveryRun) touchNewRows(ctx context.Context, rows []shop.Order, since shop.Millis) error {
	var ids []shop.ID
	for i := range rows {
		if rows[i].Rev == 1 {
			ids = append(ids, rows[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := rr.Store.Orders().TouchSince(ctx, ids, since); err != nil {
		return fmt.Errorf("touch orders: %w", err)
	}
	return nil
}
