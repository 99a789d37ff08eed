package recovery

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Settlement is the decision of an operator about an order if no data proves whether the order has ended.
type Settlement string

const (
	SettleEnd    Settlement = "end"    // the order has ended: its units are for sale again
	SettleWrite  Settlement = "write"  // the order is pending: its row is written from the data in Redis
	SettleRefund Settlement = "refund" // the order was refunded: the refund is entered and sent once
)

// Settle applies an operator's decision about an order and recovers its partition, so that the sale continues if this
// was its last problem. WrongState: the decision does not fit the order. NotFound: the order is in neither store.
func (d *Driver) Settle(ctx context.Context, order shop.ID, decision Settlement) (Report, error) {
	if _, err := d.workOnHistory(ctx); err != nil {
		return Report{}, err
	}
	row, err := d.Store.Orders().Order(ctx, order)
	sale := row.Ref()
	switch {
	case err == nil && decision == SettleRefund:
		err = d.refund(ctx, &row)
	case err == nil && decision == SettleEnd:
		err = d.endRow(ctx, &row)
	case err == nil:
		err = shop.Fail(shop.WrongState, "the order has a row already: it is "+string(row.State))
	case errors.Is(err, shop.ErrNoRow) && decision != SettleRefund:
		sale, err = d.writeRow(ctx, order, decision)
	case errors.Is(err, shop.ErrNoRow):
		err = shop.Fail(shop.WrongState, "the order has no row: write it first")
	}
	if err != nil {
		return Report{}, err
	}
	return d.Recover(ctx, sale.Partition)
}

// refund enters the refund of a sold order: the gateway recognizes an earlier refund by its number (I6).
func (d *Driver) refund(ctx context.Context, row *shop.Order) error {
	now, err := d.now(ctx)
	if err != nil {
		return err
	}
	_, err = d.Store.Refunds().DecideRefund(ctx, payment.RefundDecision{Order: row.ID, Approved: true, At: now})
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" cannot be refunded")
	}
	return err
}

// endRow ends a pending order. For an ended order that has a hold again, it claims the number of the hold; the
// Reconciler then returns the units.
func (d *Driver) endRow(ctx context.Context, row *shop.Order) error {
	if row.State == shop.Pending {
		now, err := d.now(ctx)
		if err != nil {
			return err
		}
		_, err = d.Store.Payments().EndTraded(ctx, []shop.ID{row.ID}, shop.Cancelled, now)
		return err
	}
	evidence, _, err := d.Redis.Recovery().Evidence(ctx, row.Ref(), []shop.Order{*row})
	if err != nil {
		return err
	}
	if hold := evidence[0].Hold; hold == nil || !row.LostRevival(*hold) {
		return shop.Fail(shop.WrongState, "an order that is "+string(row.State)+" needs no end")
	}
	return d.raiseHold(ctx, row, evidence[0].Hold.Hold)
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

// writeRow writes the row of an order that is only in Redis, from its buyer's record and its dead letter. Without a
// dead letter, the row gets the price of the sale and no address.
func (d *Driver) writeRow(ctx context.Context, order shop.ID, decision Settlement) (sale shop.SaleRef, err error) {
	for p := range d.Partitions {
		sales, err := d.Store.Sales().LoadedSales(ctx, p)
		if err != nil {
			return sale, fmt.Errorf("list sales of partition %d: %w", p, err)
		}
		for i := range sales {
			e, err := d.Redis.Recovery().Record(ctx, sales[i].Ref(), order)
			if errors.Is(err, shop.ErrNoRow) {
				continue
			}
			if err != nil {
				return sale, err
			}
			return sales[i].Ref(), d.writeRecord(ctx, &sales[i], e, decision)
		}
	}
	return sale, shop.Fail(shop.NotFound, "no such order in the database or in Redis: "+order.String())
}

func (d *Driver) writeRecord(ctx context.Context, sale *shop.Sale, e shop.Entry, decision Settlement) error {
	now, err := d.now(ctx)
	if err != nil {
		return err
	}
	e.PriceFen, e.SaleVersion, e.ReservedAt = sale.PriceFen, sale.Version, now
	letter, err := d.letterOf(ctx, e.Order)
	if err != nil {
		return err
	}
	if letter.ID != "" { // the letter has the fields that the buyer's record lacks
		e.Address = letter.Fields["addr"]
		price, priceErr := strconv.ParseInt(letter.Fields["price"], 10, 64)
		version, versionErr := strconv.ParseInt(letter.Fields["version"], 10, 64)
		if err := errors.Join(priceErr, versionErr); err != nil {
			return fmt.Errorf("read dead letter %s: %w", letter.ID, err)
		}
		e.PriceFen, e.SaleVersion = price, version
	}
	row := e.Row()
	row.ProductName, row.PayBy, row.InsertedAt = sale.Product.Name, now.Add(d.PayWindow), now
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
	_, err = d.Store.Orders().InsertLost(ctx, sale.Epoch, []shop.NewOrder{row}, watch)
	if errors.Is(err, shop.ErrPermanent) && decision == SettleEnd { // the texts or the key of the row cannot be stored
		row.Address, row.Key, row.ContentHash, row.ProductName = nil, "", "", ""
		_, err = d.Store.Orders().InsertLost(ctx, sale.Epoch, []shop.NewOrder{row}, watch)
	}
	if err != nil {
		return fmt.Errorf("write order %s: %w", e.Order, err)
	}
	if letter.ID == "" {
		return nil
	}
	_, err = d.Redis.Queue().RemoveDeadLetter(ctx, letter.ID)
	return err
}

// letterOf returns the dead letter that a recovery has made of the entry of an order. Its ID is "" if the order has no
// such letter.
func (d *Driver) letterOf(ctx context.Context, order shop.ID) (shop.DeadLetter, error) {
	letters, err := d.Redis.Queue().DeadLetters(ctx)
	for _, letter := range letters {
		if letter.Order == order && letter.Reason == reasonSetAside {
			return letter, nil
		}
	}
	return shop.DeadLetter{}, err
}
