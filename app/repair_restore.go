package app

import (
	"context"
	"fmt"
	"log/slog"
)

const restorePage = 2000 // orders

// restore writes what the rows say of a sale into Redis, deadlines included. Held, sold and withdrawn units are summed
// from the very rows that become the holds: a row that changes after it was read keeps its hold in Redis, counted as it
// was, until what follows the change finds it there. All tickets given out so far count as settled: whatever had no row
// is gone or was rescued.
func (r *Rebuild) restore(ctx context.Context, epoch int64, sale *Sale) error {
	state := SaleState{Sale: sale, Withdrawn: sale.Withdrawn}
	for after := ID(0); ; {
		page, err := r.Orders.OrdersOfSale(ctx, sale.ID, after, restorePage)
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		state.enter(page)
		if err := r.retell(ctx, page); err != nil {
			return err
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

// retell tells again of rows in their first state. Until its entry is acknowledged nobody knows that such an event was
// told, and the entries are gone with what Redis has lost. Whoever heard it knows it by its rev.
func (r *Rebuild) retell(ctx context.Context, rows []Order) error {
	var events []OrderEvent
	for i := range rows {
		if rows[i].Rev == firstRev {
			events = append(events, OrderEvent{Order: &rows[i]})
		}
	}
	return tellAll(ctx, r.Fulfiller.Notifier, events)
}
