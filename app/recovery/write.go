package recovery

import (
	"context"
	"errors"
	"fmt"

	"stampede/app/shop"
)

// writeMissingRows writes the missing rows of stream entries, the oldest first. A row is pending, with the hold and the
// deadline from Redis. If its hold is gone, the row is cancelled: the end of the order returned the hold, or a refund
// withdrew the hold and compare writes off its units. No row is refused: an entry whose row cannot be written becomes a
// problem and keeps its hold. The Reconciler publishes the rows afterwards, like every unpublished state.
func (rr *recoveryRun) writeMissingRows(ctx context.Context) error {
	return rr.Redis.Recovery().EachEntry(ctx, rr.partition, func(entries []shop.Entry) error {
		missing, err := rr.withoutRow(ctx, entries)
		if err != nil {
			return err
		}
		bySale := make(map[shop.ID][]shop.Entry)
		for _, e := range missing {
			bySale[e.Sale] = append(bySale[e.Sale], e)
		}
		for _, saleEntries := range bySale {
			if err := rr.writeSaleRows(ctx, saleEntries); err != nil {
				return err
			}
		}
		return nil
	})
}

// withoutRow returns the entries without a row. Unreadable entries are left to the consumer.
func (rr *recoveryRun) withoutRow(ctx context.Context, entries []shop.Entry) ([]shop.Entry, error) {
	ids := make([]shop.ID, 0, len(entries))
	for i := range entries {
		if entries[i].ParseErr == nil {
			ids = append(ids, entries[i].Order)
		}
	}
	rows, err := rr.Store.Orders().OrdersByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	written := make(map[shop.ID]bool, len(rows))
	for i := range rows {
		written[rows[i].ID] = true
	}
	var missing []shop.Entry
	for _, e := range entries {
		if e.ParseErr == nil && !written[e.Order] {
			missing = append(missing, e)
		}
	}
	return missing, nil
}

func (rr *recoveryRun) writeSaleRows(ctx context.Context, entries []shop.Entry) error {
	rows := make([]shop.NewOrder, len(entries))
	for i := range entries {
		rows[i] = entries[i].Row()
		rows[i].ProductName = rr.productOf(entries[i].Sale)
	}
	sale := shop.SaleRef{ID: entries[0].Sale, Partition: rr.partition}
	evidence, loaded, err := rr.Redis.Recovery().Evidence(ctx, sale, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		o, e := &rows[i], &evidence[i]
		o.PayBy = e.DueAt
		if o.PayBy == 0 {
			o.PayBy = rr.closedAt.Add(rr.PayWindow)
		}
		switch {
		case e.Hold != nil:
			o.Hold = e.Hold.Hold
		case loaded:
			o.State, o.Reason, o.CancelledAt = shop.Cancelled, shop.ReasonRecovered, rr.closedAt
		}
	}
	return rr.insert(ctx, entries, rows)
}

// insert splits the batch in half on a permanent error until a batch has only the entry that cannot be written.
func (rr *recoveryRun) insert(ctx context.Context, entries []shop.Entry, rows []shop.NewOrder) error {
	if err := rr.beginDoubt(ctx); err != nil {
		return err
	}
	watch, err := rr.watch(ctx, rr.closedAt)
	if err != nil {
		return err
	}
	inserted, err := rr.Store.Orders().InsertLost(ctx, rr.claim, rows, watch)
	switch {
	case err == nil:
		for i := range inserted {
			if inserted[i].Fresh {
				rr.report.Written++
			}
		}
		return nil
	case !errors.Is(err, shop.ErrStockShort) && !errors.Is(err, shop.ErrPermanent):
		return err
	case len(rows) == 1:
		return rr.setAside(ctx, &entries[0], err)
	}
	half := len(rows) / 2
	if err := rr.insert(ctx, entries[:half], rows[:half]); err != nil {
		return err
	}
	return rr.insert(ctx, entries[half:], rows[half:])
}

// setAside stores the entry as a problem, then removes it from the stream. A consumer would refuse the order.
func (rr *recoveryRun) setAside(ctx context.Context, e *shop.Entry, cause error) error {
	err := rr.addProblems(ctx, shop.Problem{
		Sale: e.Sale, Order: e.Order, User: e.User, Entry: e, Text: "its entry cannot become a row: " + cause.Error(),
	})
	if err == nil {
		err = rr.Redis.Recovery().SetAside(ctx, rr.claim, e)
	}
	if err != nil {
		return fmt.Errorf("set the entry of order %s aside: %w", e.Order, err)
	}
	return nil
}

func (rr *recoveryRun) productOf(sale shop.ID) string {
	for i := range rr.sales {
		if rr.sales[i].ID == sale {
			return rr.sales[i].Product.Name
		}
	}
	return ""
}
