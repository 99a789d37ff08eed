package order

import (
	"context"
	"time"

	"stampede/app/shop"
)

// Addresses sets the delivery address of orders:
//
//	COMMIT of the row with the address (and a posting, if it is paid) → event to all connections of the buyer
type Addresses struct {
	Stock     Stock
	Store     Store
	Effects   *Effects
	Reader    *Reader
	PayWindow time.Duration
}

// SetAddress sets the delivery address of an order of the user until it is shipped. A reservation without a row becomes
// a pending order at once. A repeat changes nothing. BadRequest: the address is nil or invalid. WrongState: the order
// is shipped or has ended. NotFound: the order belongs to another user or does not exist.
func (a *Addresses) SetAddress(
	ctx context.Context, user, id shop.ID, address *shop.Address,
) (shop.OrderState, error) {
	if address == nil {
		return "", shop.Fail(shop.BadRequest, "address is missing")
	}
	if err := address.Clean(); err != nil {
		return "", err
	}
	now, err := a.Stock.Now(ctx)
	if err != nil {
		return "", shop.Unavailable("Redis time", err)
	}
	row, err := changeOrder(ctx, a.Reader, user, id, change{
		row: func() (shop.Order, error) { return a.Store.SetAddress(ctx, id, user, *address, now) },
		reservation: func(o *shop.Order) {
			o.State, o.Rev, o.Address = shop.Pending, shop.FirstRev, address
			o.PayBy, o.InsertedAt = now.Add(a.PayWindow), now
		},
	})
	if err != nil {
		return "", shop.UnknownOutcome("set the address of order "+id.String(), err)
	}
	if row.Address == nil || *row.Address != *address {
		return "", shop.Fail(shop.WrongState, "the address of an order that is "+string(row.State)+" cannot be changed")
	}
	if err := a.Effects.Do(ctx, now, &row); err != nil {
		return "", shop.UnknownOutcome("finish setting the address of order "+id.String(), err)
	}
	return row.State, nil
}
