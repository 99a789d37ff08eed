package app

import (
	"context"
	"errors"
	"fmt"
)

// heldOrders walks through the holds of a sale. One that counts as sold belongs to an order that was paid; one that is
// newer than the end of its order to one that was revived; one without a row and without an entry to an order that
// nobody can write any more.
func (r *Redo) heldOrders(ctx context.Context, sale SaleRef, report *RedoReport) error {
	for cursor := uint64(0); ; {
		holds, next, err := r.Inventory.Holds(ctx, sale, cursor)
		if err != nil {
			return fmt.Errorf("walk through holds: %w", err)
		}
		if err := r.heldPage(ctx, sale, holds, report); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func (r *Redo) heldPage(ctx context.Context, sale SaleRef, holds []OpenHold, report *RedoReport) error {
	ids := make([]ID, len(holds))
	for i := range holds {
		ids[i] = holds[i].Order
	}
	rows, err := r.Orders.OrdersByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	found := byID(rows)
	for _, h := range holds {
		switch row := found[h.Order]; {
		case row == nil:
			err = r.unwritten(ctx, sale, h, report)
		case row.HoldsUnits() && row.State != Pending:
		case h.Sold:
			_, err = r.payment(ctx, row, report)
		case row.lacksRevival(h):
			err = r.revival(ctx, row, h, report)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unwritten lists a hold without a row, unless its reservation is under way: then its entry is not settled yet, and it
// is newer than what the walk through the stream has seen, or was written a moment ago.
func (r *Redo) unwritten(ctx context.Context, sale SaleRef, h OpenHold, report *RedoReport) error {
	counters, err := r.Inventory.Counters(ctx, []SaleRef{sale})
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	if counters[0].Done != counters[0].Tickets {
		return nil // the reconciler goes on looking
	}
	_, err = r.Orders.Order(ctx, h.Order)
	if !errors.Is(err, ErrNoRow) {
		return err
	}
	holds, _, err := r.Redis.Standing(ctx, sale, []ID{h.Order})
	if _, still := holds[h.Order]; still && err == nil {
		report.lacks(sale.ID, h.Order, "it holds units, but the stream has forgotten its entry: nobody knows whose it is")
	}
	return err
}

// payment asks the gateway about an order that was paid and is not: its word is settled like any other. It reports
// whether money is there.
func (r *Redo) payment(ctx context.Context, row *Order, report *RedoReport) (there bool, err error) {
	if !r.Cashier.TakesPayments() {
		report.lacks(row.Sale, row.ID, "it was paid, and no gateway is configured that could say so again")
		return false, nil
	}
	t, err := r.Cashier.Gateway.Query(ctx, row.ID)
	if err == nil {
		err = r.Cashier.Settle(ctx, t)
	}
	switch {
	case errors.Is(err, ErrTradeOdd):
		report.lacks(row.Sale, row.ID, "it was paid, and the payment does not fit: "+err.Error())
		return true, nil
	case err != nil:
		return false, fmt.Errorf("ask about the trade of order %s: %w", row.ID, errors.Join(ErrTransient, err))
	case t.State != TradePaid:
		report.lacks(row.Sale, row.ID, "it was paid, and the gateway has no such payment any more: it was given back")
		return false, nil
	}
	report.Payments++
	return true, nil
}

// lacksRevival reports whether the order ended before it got that hold. The number of a hold is in the row before it is
// in Redis, so a database that lacks nothing has no such row.
func (o *Order) lacksRevival(h OpenHold) bool { return !o.HoldsUnits() && o.Hold < h.Hold }

// revival is for an order that had ended and held units again, of which the database knows nothing: because money came
// late, or because an operator had its entry tried again. Without money its units go back.
func (r *Redo) revival(ctx context.Context, row *Order, h OpenHold, report *RedoReport) error {
	if row.State == Refused {
		report.lacks(row.Sale, row.ID, "an operator had tried it again, and it is refused as before")
	} else if there, err := r.payment(ctx, row, report); err != nil || there {
		return err
	}
	row.Hold = h.Hold
	return r.Fulfiller.Effects.Units(ctx, []*Order{row})
}

// endedOrders ends rows that are pending again though their orders had ended: their units are on sale already. A row
// that counts as sold without a hold was refunded; money is nothing to repeat on a guess, so it is listed.
func (r *Redo) endedOrders(ctx context.Context, sale SaleRef, report *RedoReport) error {
	for after := ID(0); ; {
		page, err := r.Orders.OrdersOfSale(ctx, sale.ID, after, restorePage)
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		if err := r.endedPage(ctx, sale, page, report); err != nil {
			return err
		}
		if len(page) < restorePage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

func (r *Redo) endedPage(ctx context.Context, sale SaleRef, page []Order, report *RedoReport) error {
	ids := make([]ID, 0, len(page))
	for i := range page {
		if o := &page[i]; o.State == Pending || o.State.Sold() && o.HoldsUnits() {
			ids = append(ids, o.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	holds, loaded, err := r.Redis.Standing(ctx, sale, ids)
	if err != nil || !loaded {
		return err
	}
	// Read once more: what ended between the page and the holds has done so in the database first.
	rows, err := r.Orders.OrdersByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	for i := range rows {
		o := &rows[i]
		if _, held := holds[o.ID]; held {
			continue
		}
		switch {
		case o.State == Pending:
			err = r.endAgain(ctx, o, report)
		case o.State.Sold() && o.HoldsUnits():
			report.lacks(o.Sale, o.ID, "it was refunded: refund it again, the gateway knows the refund by its number")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endAgain cancels a pending row. Where a payment was opened the gateway is asked at the deadline, as always.
func (r *Redo) endAgain(ctx context.Context, o *Order, report *RedoReport) error {
	now, err := r.Inventory.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(ErrTransient, err))
	}
	row, err := r.Orders.Cancel(ctx, o.ID, o.User, now)
	if err != nil {
		return fmt.Errorf("end order %s again: %w", o.ID, err)
	}
	if row.State == Pending {
		report.lacks(o.Sale, o.ID, "it had ended and is pending again, with a payment opened: it ends at its deadline")
		return nil
	}
	report.Ended++
	return r.Fulfiller.Effects.Do(ctx, now, &row)
}
