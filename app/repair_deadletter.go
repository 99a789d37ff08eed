package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DeadLetter is an entry that failed for good on its own account. Its order has a refused row, unless its id belongs to
// another order, and its units are back; the letter waits for an operator.
type DeadLetter struct {
	ID         string            `json:"id"` // partition "-" id in the dead-letter stream, e.g. "3-1767225600000-0"
	Partition  int               `json:"partition"`
	Order      ID                `json:"order"`
	Sale       ID                `json:"sale"`
	User       ID                `json:"user"`
	Reason     string            `json:"reason"`
	Deliveries int               `json:"deliveries"`
	At         Millis            `json:"at"`
	Fields     map[string]string `json:"fields"` // the entry as it was
}

// DeadLetterBox keeps dead letters, per partition, in Redis.
type DeadLetterBox interface {
	// DeadLetters lists them over all partitions, oldest first. A PartitionsAway beside them: there may be more in
	// those partitions.
	DeadLetters(ctx context.Context) ([]DeadLetter, error)
	// DeadLetter reads one. ErrNoRow if there is none.
	DeadLetter(ctx context.Context, id string) (DeadLetter, error)
	// RemoveDeadLetter forgets one; false when it was gone already.
	RemoveDeadLetter(ctx context.Context, id string) (bool, error)
}

// DeadLetters is what an operator can do with dead letters.
type DeadLetters struct {
	Box       DeadLetterBox
	Inventory Inventory
	Orders    OrderStore
	Sales     SaleStore
	Effects   *Effects
	PayWindow time.Duration
	Journal   *Journal // of what operators do with them
}

// Replay has an operator try the order of a letter once more.
func (d *DeadLetters) Replay(ctx context.Context, actor Actor, id string) (Order, error) {
	done, letter, err := d.act(ctx, actor, "dead.replay", id)
	if err != nil {
		return Order{}, err
	}
	order, err := d.replay(ctx, id)
	if done.Repeated && errors.Is(err, &Error{Code: NotFound}) { // all of it was done before
		return d.Orders.Order(ctx, letter)
	}
	return order, err
}

// Drop has an operator forget a dead letter; its order stays refused.
func (d *DeadLetters) Drop(ctx context.Context, actor Actor, id string) error {
	if _, _, err := d.act(ctx, actor, "dead.drop", id); err != nil {
		return err
	}
	_, err := d.Box.RemoveDeadLetter(ctx, id)
	if err != nil {
		return fmt.Errorf("drop dead letter %s: %w", id, err)
	}
	return nil
}

// act journals what is done to a letter, before it is done, and answers its order.
func (d *DeadLetters) act(ctx context.Context, actor Actor, kind, id string) (done Done, order ID, err error) {
	done, err = d.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
		letter, err := d.Box.DeadLetter(ctx, id)
		if errors.Is(err, ErrNoRow) {
			return Act{}, Fail(NotFound, "no such dead letter: "+clip(id, 40))
		}
		about := letterOrder{letter.Order, letter.Sale}
		return Act{Kind: kind, Object: "dead:" + id, Before: about, Answer: about}, err
	})
	var about letterOrder
	if err == nil {
		err = done.Into(&about)
	}
	return done, about.Order, err
}

// letterOrder is what the journal says of a letter; without either when its entry could not be read.
type letterOrder struct {
	Order ID `json:"order,omitempty"`
	Sale  ID `json:"sale,omitempty"`
}

// replay tries an order once more: a new hold by the gate's rules for stock and limit, then refused → pending
// on the same row. Every way out leaves either a pending order or the refused one with nothing held:
//
//	claim a new hold number (database) → hold the units (Redis) → revive the row (database) → deadline, event
//
// A crash after the hold leaves a hold whose row is refused; the reconciler finds and returns it.
func (d *DeadLetters) replay(ctx context.Context, id string) (Order, error) {
	letter, err := d.Box.DeadLetter(ctx, id)
	if errors.Is(err, ErrNoRow) {
		return Order{}, Fail(NotFound, "no such dead letter: "+clip(id, 40))
	}
	if err != nil {
		return Order{}, fmt.Errorf("read dead letter %s: %w", id, err)
	}
	if letter.Order == 0 {
		return Order{}, Fail(WrongState, "the entry could not be read at all; it can only be dropped")
	}
	row, err := d.Orders.Order(ctx, letter.Order)
	if err == nil && (row.User != letter.User || row.Sale != letter.Sale) {
		return Order{}, Fail(WrongState, "its order id belongs to another order; it can only be dropped")
	}
	if err == nil {
		row, err = d.Orders.ClaimHold(ctx, letter.Order, Refused)
	}
	if errors.Is(err, ErrNoRow) {
		return Order{}, Fail(WrongState, "its order is not refused any more")
	}
	if errors.Is(err, ErrArchived) {
		return Order{}, Fail(WrongState, "its order is archived and stays refused: drop the dead letter")
	}
	if err != nil {
		return Order{}, fmt.Errorf("claim a hold for order %s: %w", letter.Order, err)
	}
	// before the hold: a recovery in between changes the epoch, and nothing is revived
	sale, err := d.Sales.Sale(ctx, row.Sale)
	if err != nil {
		return Order{}, fmt.Errorf("read sale %s: %w", row.Sale, err)
	}
	if err := complete(&row, letter, &sale); err != nil {
		return Order{}, err
	}
	if err := d.hold(ctx, row); err != nil {
		return Order{}, err
	}
	revived, err := d.revive(ctx, row, sale.Epoch)
	if err != nil {
		return Order{}, err
	}
	if _, err := d.Box.RemoveDeadLetter(ctx, id); err != nil {
		return revived, fmt.Errorf("the order is pending again, but forgetting the dead letter failed: %w", err)
	}
	return revived, nil
}

// complete puts back what the refused row could not store: the buyer's texts are still in the letter.
func complete(row *Order, letter DeadLetter, sale *Sale) error {
	if row.Key == "" {
		row.Key, row.ContentHash = letter.Fields["key"], letter.Fields["hash"]
	}
	if text := letter.Fields["addr"]; row.Address == nil && text != "" {
		row.Address = new(Address)
		if err := json.Unmarshal([]byte(text), row.Address); err != nil {
			return Fail(WrongState, "the address in the letter cannot be read, so the order cannot be delivered; drop it")
		}
	}
	if row.ProductName == "" {
		row.ProductName = sale.Product.Name
	}
	return nil
}

func (d *DeadLetters) hold(ctx context.Context, row Order) error {
	verdict, err := d.Inventory.Hold(ctx, HoldRequest{
		Sale: row.Ref(), Order: row.ID, User: row.User, Hold: row.Hold, Qty: row.Qty,
	})
	if err != nil {
		return fmt.Errorf("hold units for order %s: %w", row.ID, err)
	}
	switch verdict {
	case VerdictReserved, VerdictRepeated:
		return nil
	case VerdictSoldOut, VerdictCooldown:
		return Fail(SoldOut, "no unit is free for it now")
	case VerdictLimit, VerdictCap:
		return Fail(LimitReached, "its buyer has reached the limit meanwhile")
	default:
		return FailBusy("the sale is not ready; try again", time.Second)
	}
}

func (d *DeadLetters) revive(ctx context.Context, row Order, epoch int64) (Order, error) {
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("read Redis time: %w", err)
	}
	revived, err := d.Orders.Revive(ctx, row, epoch, now.Add(d.PayWindow))
	if errors.Is(err, ErrNoRow) || errors.Is(err, ErrPermanent) || errors.Is(err, ErrStaleEpoch) {
		// Certainly not revived under this number.
		units := []Return{{Sale: row.Ref(), Order: row.ID, Hold: row.Hold, User: row.User}}
		if _, backErr := d.Inventory.Return(ctx, units); backErr != nil {
			return Order{}, fmt.Errorf("return units of order %s: %w", row.ID, backErr)
		}
		if errors.Is(err, ErrStaleEpoch) {
			return Order{}, FailBusy("Redis was made anew at the same moment; try again", time.Second)
		}
		return Order{}, Fail(Conflict,
			"the order changed meanwhile, or the database has no unit for it or cannot store it: "+clip(err.Error(), 200))
	}
	if err != nil { // unknown: the reconciler returns the hold if the row stayed refused (I6)
		return Order{}, fmt.Errorf("revive order %s: %w", row.ID, err)
	}
	return revived, d.Effects.Do(ctx, now, &revived)
}
