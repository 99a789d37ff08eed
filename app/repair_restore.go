package app

import (
	"context"
	"fmt"
	"log/slog"
)

const restorePage = 2000 // orders

// restore writes a sale into Redis from its rows, deadlines included. Held, sold and withdrawn units are summed from
// the very rows that become the holds: a row that changes later keeps its hold until its effects find it. All tickets
// count as settled: whatever had no row is gone or was rescued.
func (r *Rebuild) restore(ctx context.Context, epoch int64, sale *Sale, toldUntil Millis) error {
	// None is settled any more under the old epoch, and none is decided before the partition is open again: they are
	// those that sale.Withdrawn has.
	acts, err := r.Sales.StockActs(ctx, sale.ID)
	if err != nil {
		return fmt.Errorf("read withdrawals: %w", err)
	}
	state := SaleState{Sale: sale, Withdrawn: sale.Withdrawn, Acts: acts}
	for after := ID(0); ; {
		page, err := r.Orders.OrdersOfSale(ctx, sale.ID, after, restorePage)
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		state.enter(page)
		if err := r.restamp(ctx, page, toldUntil); err != nil {
			return fmt.Errorf("stamp orders anew: %w", err)
		}
		if len(page) < restorePage {
			break
		}
		after = page[len(page)-1].ID
	}
	state.Stock = sale.Initial + sale.Added - state.Held - state.Sold - state.Withdrawn
	if state.Stock < 0 { // the guard makes this impossible; the audit will show it, and nothing more is sold
		slog.ErrorContext(ctx, "sale has given away more than there is", "sale", sale.ID, "units", -state.Stock)
		state.Stock = 0
	}
	if err := r.Redis.Restore(ctx, epoch, state); err != nil {
		return err
	}
	return r.Inventory.Schedule(ctx, sale.Partition, state.deadlines())
}

// enter counts the units of orders as their rows say, and keeps the orders.
func (s *SaleState) enter(orders []Order) {
	for i := range orders {
		o := &orders[i]
		s.Tickets = max(s.Tickets, o.Ticket)
		switch units := int64(o.Qty); {
		case !o.HoldsUnits():
		case o.State == Refunded:
			s.Withdrawn += units
		case o.State.Sold():
			s.Sold += units
		default:
			s.Held += units
		}
	}
	s.Orders = append(s.Orders, orders...)
}

func (s *SaleState) deadlines() []Deadline {
	var due []Deadline
	for i := range s.Orders {
		if o := &s.Orders[i]; o.State == Pending {
			due = append(due, Deadline{Order: o.ID, PayBy: o.PayBy})
		}
	}
	return due
}

// restamp makes the changes of those rows as new as now whose first state may not have been told: until its entry is
// acknowledged nobody knows, and the entries are gone with what Redis has lost. With the new epoch every node reads
// what has changed, and whoever is away finds it. Whoever heard it knows it by its rev.
func (r *Rebuild) restamp(ctx context.Context, rows []Order, since Millis) error {
	var ids []ID
	for i := range rows {
		if rows[i].Rev == firstRev {
			ids = append(ids, rows[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return r.Orders.RestampSince(ctx, ids, since)
}
