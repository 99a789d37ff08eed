package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

// DeadLetters replays dead letters.
type DeadLetters struct {
	Store     *store.Store
	Redis     *streams.Inventory
	Effects   *order.Effects
	PayWindow time.Duration
}

// Replay retries the order of a dead letter: a new hold by the gate's rules for stock and limit, then refused → pending
// on the same row. Every outcome leaves either a pending order or the refused order without a hold:
//
//	claim a new hold number (database) → hold the units (Redis) → revive the row (database) → deadline, event
//
// A crash after the hold leaves a hold whose row is refused; the reconciler finds and returns it.
func (d *DeadLetters) Replay(ctx context.Context, id string) (shop.Order, error) {
	letter, err := d.Redis.Queue().DeadLetter(ctx, id)
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Order{}, shop.Fail(shop.NotFound, "no such dead letter: "+shop.Clip(id, 40))
	}
	if err != nil {
		return shop.Order{}, fmt.Errorf("read dead letter %s: %w", id, err)
	}
	if letter.Order == 0 {
		return shop.Order{}, shop.Fail(shop.WrongState, "the entry could not be read at all; it can only be dropped")
	}
	row, err := d.Store.Orders().Order(ctx, letter.Order)
	if err == nil && (row.User != letter.User || row.Sale != letter.Sale) {
		return shop.Order{}, shop.Fail(shop.WrongState, "its order id belongs to another order; it can only be dropped")
	}
	if err == nil {
		row, err = d.Store.Orders().ClaimHold(ctx, letter.Order, shop.Refused)
	}
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Order{}, shop.Fail(shop.WrongState, "its order is no longer refused")
	}
	if err != nil {
		return shop.Order{}, fmt.Errorf("claim a hold for order %s: %w", letter.Order, err)
	}
	// Read the epoch before the hold: a recovery in between changes the epoch, and Revive fails.
	sale, err := d.Store.Sales().Sale(ctx, row.Sale)
	if err != nil {
		return shop.Order{}, fmt.Errorf("read sale %s: %w", row.Sale, err)
	}
	if err := restoreFields(&row, letter, &sale); err != nil {
		return shop.Order{}, err
	}
	if err := d.hold(ctx, row); err != nil {
		return shop.Order{}, err
	}
	revived, err := d.revive(ctx, row, sale.Epoch)
	if err != nil {
		return shop.Order{}, err
	}
	if _, err := d.Redis.Queue().RemoveDeadLetter(ctx, id); err != nil {
		return revived, fmt.Errorf("the order is pending again, but the dead letter was not removed: %w", err)
	}
	return revived, nil
}

// restoreFields restores the fields that the refused row could not store: the dead letter still has the buyer's texts.
func restoreFields(row *shop.Order, letter shop.DeadLetter, sale *shop.Sale) error {
	if row.Key == "" {
		row.Key, row.ContentHash = letter.Fields["key"], letter.Fields["hash"]
	}
	if text := letter.Fields["addr"]; row.Address == nil && text != "" {
		row.Address = new(shop.Address)
		if err := json.Unmarshal([]byte(text), row.Address); err != nil {
			return shop.Fail(shop.WrongState, "the address in the letter cannot be read, so the order cannot be delivered; drop it")
		}
	}
	if row.ProductName == "" {
		row.ProductName = sale.Product.Name
	}
	return nil
}

func (d *DeadLetters) hold(ctx context.Context, row shop.Order) error {
	verdict, err := d.Redis.Stock().Hold(ctx, shop.HoldRequest{
		Sale: row.Ref(), Order: row.ID, User: row.User, Hold: row.Hold, Qty: row.Qty,
	})
	if err != nil {
		return fmt.Errorf("hold units for order %s: %w", row.ID, err)
	}
	switch verdict {
	case shop.VerdictReserved, shop.VerdictRepeated:
		return nil
	case shop.VerdictSoldOut, shop.VerdictCooldown:
		return shop.Fail(shop.SoldOut, "no unit is free for it now")
	case shop.VerdictLimit, shop.VerdictCap:
		return shop.Fail(shop.LimitReached, "its buyer has reached the limit")
	default:
		return shop.FailBusy("the sale is not ready; try again", time.Second)
	}
}

func (d *DeadLetters) revive(ctx context.Context, row shop.Order, epoch int64) (shop.Order, error) {
	now, err := d.Redis.Now(ctx)
	if err != nil {
		return shop.Order{}, fmt.Errorf("read Redis time: %w", err)
	}
	revived, err := d.Store.Orders().Revive(ctx, row, epoch, now, now.Add(d.PayWindow))
	if errors.Is(err, shop.ErrNoRow) || errors.Is(err, shop.ErrPermanent) || errors.Is(err, shop.ErrStaleEpoch) {
		// The row was certainly not revived under this hold number.
		units := []shop.Return{{Sale: row.Ref(), Order: row.ID, Hold: row.Hold, User: row.User}}
		if _, returnErr := d.Redis.Stock().Return(ctx, units); returnErr != nil {
			return shop.Order{}, fmt.Errorf("return units of order %s: %w", row.ID, returnErr)
		}
		if errors.Is(err, shop.ErrStaleEpoch) {
			return shop.Order{}, shop.FailBusy("Redis was recovered at the same time; try again", time.Second)
		}
		return shop.Order{}, shop.Fail(shop.Conflict,
			"the order changed meanwhile, or the database has no unit for it or cannot store it: "+shop.Clip(err.Error(), 200))
	}
	if err != nil { // unknown: the reconciler returns the hold if the row stayed refused (I6)
		return shop.Order{}, fmt.Errorf("revive order %s: %w", row.ID, err)
	}
	return revived, d.Effects.Do(ctx, now, &revived)
}
