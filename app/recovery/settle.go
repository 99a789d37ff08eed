package recovery

import (
	"context"
	"errors"
	"fmt"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Settlement is the decision of an operator about an order with a problem.
type Settlement string

const (
	SettleEnd    Settlement = "end"    // the order has ended: its units are for sale again
	SettleWrite  Settlement = "write"  // its row is right; without a row the order is pending, and its row is written
	SettleRefund Settlement = "refund" // the order was refunded: the refund is entered and sent once
)

// Settle applies an operator's decision about an order with an open problem, and recovers its partition. by is the user
// id of the operator; 0: the command line. WrongState: the decision does not fit the order. NotFound: the order has no
// open problem.
func (d *Driver) Settle(ctx context.Context, order shop.ID, decision Settlement, by shop.ID) (Report, error) {
	if _, err := d.workOnHistory(ctx); err != nil {
		return Report{}, err
	}
	p, err := d.Store.Problems().Problem(ctx, order)
	if errors.Is(err, shop.ErrNoRow) {
		return Report{}, shop.Fail(shop.NotFound, "order "+order.String()+" has no open problem: stampede recover lists them")
	}
	if err != nil {
		return Report{}, err
	}
	now, err := d.now(ctx)
	if err != nil {
		return Report{}, err
	}
	if err := d.settle(ctx, &p, decision, now); err != nil {
		return Report{}, err
	}
	// After a crash before this call the operator decides again: each decision can be repeated.
	err = d.Store.Problems().Decide(ctx, order, string(decision), by, now)
	if err != nil && !errors.Is(err, shop.ErrNoRow) { // ErrNoRow: the decision on a refund also decides the problem
		return Report{}, err
	}
	return d.Recover(ctx, p.Partition)
}

func (d *Driver) settle(ctx context.Context, p *shop.Problem, decision Settlement, now shop.Millis) error {
	row, err := d.Store.Orders().Order(ctx, p.Order)
	switch {
	case errors.Is(err, shop.ErrNoRow) && decision != SettleRefund:
		return d.writeRow(ctx, p, decision, now)
	case errors.Is(err, shop.ErrNoRow):
		return shop.Fail(shop.WrongState, "the order has no row: write it first")
	case err != nil:
		return err
	case row.User != p.User || row.Sale != p.Sale:
		return shop.Fail(shop.WrongState, "the id belongs to an order of another buyer: contact the buyer "+p.User.String())
	case decision == SettleRefund:
		return d.refund(ctx, &row, now)
	}
	evidence, _, err := d.Redis.Recovery().Evidence(ctx, row.Ref(), []shop.Order{row})
	if err != nil {
		return err
	}
	hold := evidence[0].Hold
	if decision == SettleEnd {
		return d.endRow(ctx, &row, hold, now)
	}
	if (hold != nil) != (row.HoldsUnits() && row.State != shop.Refunded) || hold != nil && hold.Qty != row.Qty {
		return shop.Fail(shop.WrongState, "the order is "+string(row.State)+", and its units in Redis differ: end or refund it")
	}
	return nil
}

// refund enters the refund of a sold order: the gateway recognizes an earlier refund by its number (I6).
func (d *Driver) refund(ctx context.Context, row *shop.Order, now shop.Millis) error {
	_, err := d.Store.Refunds().DecideRefund(ctx, payment.RefundDecision{Order: row.ID, Approved: true, At: now})
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be refunded")
	}
	return err
}

// endRow ends a pending order. For an ended order that has a hold again, it claims the number of the hold; the
// Reconciler then returns the units.
func (d *Driver) endRow(ctx context.Context, row *shop.Order, hold *shop.OpenHold, now shop.Millis) error {
	switch {
	case row.State == shop.Pending:
		_, err := d.Store.Payments().EndTraded(ctx, []shop.ID{row.ID}, shop.Cancelled, now)
		return err
	case row.HoldsUnits():
		return shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be ended: refund it")
	case hold != nil && row.LostRevival(*hold):
		return d.raiseHold(ctx, row, hold.Hold)
	}
	return nil
}

// raiseHold gives a row the number of its hold in Redis. Only a hold with the number of its row is sold, withdrawn or
// returned.
func (d *Driver) raiseHold(ctx context.Context, row *shop.Order, hold int64) error {
	for row.Hold < hold {
		claimed, err := d.Store.Orders().ClaimHold(ctx, row.ID, row.State)
		if err != nil {
			return fmt.Errorf("claim the hold of order %s: %w", row.ID, err)
		}
		row.Hold = claimed.Hold
	}
	return nil
}

// writeRow writes the row of an order from its entry.
func (d *Driver) writeRow(ctx context.Context, p *shop.Problem, decision Settlement, now shop.Millis) error {
	if p.Entry == nil {
		return shop.Fail(shop.WrongState, "the row of the order was lost after it was found: run stampede recover")
	}
	epoch, _, err := d.Store.Partitions().PartitionEpoch(ctx, p.Partition)
	if err != nil {
		return fmt.Errorf("read epoch: %w", err)
	}
	row := p.Entry.Row()
	row.PayBy, row.InsertedAt = now.Add(d.PayWindow), now
	sale, err := d.Store.Sales().Sale(ctx, p.Sale)
	if err != nil && !errors.Is(err, shop.ErrNoRow) {
		return fmt.Errorf("read sale %s: %w", p.Sale, err)
	}
	row.ProductName = sale.Product.Name
	if decision == SettleEnd {
		row.State, row.Reason, row.CancelledAt = shop.Cancelled, shop.ReasonRecovered, now
	}
	watch, err := d.watch(ctx, now)
	if err != nil {
		return err
	}
	if err := d.Store.History().BeginDoubt(ctx, now); err != nil {
		return err
	}
	_, err = d.Store.Orders().InsertLost(ctx, epoch, []shop.NewOrder{row}, watch)
	if errors.Is(err, shop.ErrPermanent) && decision == SettleEnd { // the texts or the key of the row cannot be stored
		row.Address, row.Key, row.ContentHash, row.ProductName = nil, "", "", ""
		_, err = d.Store.Orders().InsertLost(ctx, epoch, []shop.NewOrder{row}, watch)
	}
	if errors.Is(err, shop.ErrStockShort) {
		return shop.Fail(shop.WrongState, "the database has no free units for the order: add units to the sale, or end the order")
	}
	if err != nil {
		return fmt.Errorf("write order %s: %w", p.Order, err)
	}
	return nil
}
