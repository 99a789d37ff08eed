package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// SetAddress sets the delivery address of a pending or paid order of the user and publishes the row again. A paid order
// gets a new posting, because the back office has the old address. It returns the resulting row, changed or not.
// ErrNoRow: no such order of this user.
func (s Orders) SetAddress(
	ctx context.Context, order, user shop.ID, address shop.Address, now shop.Millis,
) (o shop.Order, err error) {
	text, err := encodeAddress(order, &address)
	if err != nil {
		return o, err
	}
	err = s.inTx(ctx, "set the address of order "+order.String(), func(tx bun.Conn) error {
		o, err = s.lockOrderOf(ctx, tx, order, user)
		if err != nil || o.State != shop.Pending && o.State != shop.Paid || o.Address != nil && *o.Address == address {
			return err
		}
		if err := s.changeState(ctx, tx, &o, o.State, "address = ?", text); err != nil {
			return err
		}
		o.Address = &address
		if o.State == shop.Paid {
			return s.Outbox().addOutboxMessage(ctx, tx, &o, now)
		}
		return nil
	})
	return o, err
}
