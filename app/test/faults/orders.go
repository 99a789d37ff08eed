package faults

import (
	"context"

	"stampede/app/ports"
	"stampede/app/shop"
)

// Orders puts a fault before an order store.
func Orders(to ports.OrderStore, f Fault) ports.OrderStore { return orders{to, f} }

type orders struct {
	ports.OrderStore
	f Fault
}

func (o orders) Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error) {
	return through(ctx, o.f, "Orders.Insert",
		func() ([]shop.Inserted, error) { return o.OrderStore.Insert(ctx, epoch, rows) })
}

func (o orders) InsertLost(
	ctx context.Context, epoch int64, rows []shop.NewOrder, w *shop.MoneyWatch,
) ([]shop.Inserted, error) {
	return through(ctx, o.f, "Orders.InsertLost",
		func() ([]shop.Inserted, error) { return o.OrderStore.InsertLost(ctx, epoch, rows, w) })
}

func (o orders) EndLost(ctx context.Context, ids []shop.ID, now shop.Millis) ([]shop.Order, error) {
	return through(ctx, o.f, "Orders.EndLost",
		func() ([]shop.Order, error) { return o.OrderStore.EndLost(ctx, ids, now) })
}

func (o orders) Expire(ctx context.Context, ids []shop.ID, now shop.Millis) ([]shop.Order, error) {
	return through(ctx, o.f, "Orders.Expire",
		func() ([]shop.Order, error) { return o.OrderStore.Expire(ctx, ids, now) })
}

func (o orders) Cancel(ctx context.Context, order, user shop.ID, now shop.Millis) (shop.Order, error) {
	return through(ctx, o.f, "Orders.Cancel",
		func() (shop.Order, error) { return o.OrderStore.Cancel(ctx, order, user, now) })
}

func (o orders) ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error) {
	return through(ctx, o.f, "Orders.ClaimHold",
		func() (shop.Order, error) { return o.OrderStore.ClaimHold(ctx, order, in) })
}

func (o orders) Revive(ctx context.Context, claimed shop.Order, epoch int64, payBy shop.Millis) (shop.Order, error) {
	return through(ctx, o.f, "Orders.Revive",
		func() (shop.Order, error) { return o.OrderStore.Revive(ctx, claimed, epoch, payBy) })
}

func (o orders) Order(ctx context.Context, id shop.ID) (shop.Order, error) {
	return through(ctx, o.f, "Orders.Order", func() (shop.Order, error) { return o.OrderStore.Order(ctx, id) })
}

func (o orders) OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error) {
	return through(ctx, o.f, "Orders.OrdersOfSale",
		func() ([]shop.Order, error) { return o.OrderStore.OrdersOfSale(ctx, sale, after, limit) })
}

func (o orders) Restamp(ctx context.Context, ids []shop.ID) ([]shop.Order, error) {
	return through(ctx, o.f, "Orders.Restamp",
		func() ([]shop.Order, error) { return o.OrderStore.Restamp(ctx, ids) })
}

// Sales puts a fault before a sale store.
func Sales(to ports.SaleStore, f Fault) ports.SaleStore { return sales{to, f} }

type sales struct {
	ports.SaleStore
	f Fault
}

func (s sales) Sale(ctx context.Context, id shop.ID) (shop.Sale, error) {
	return through(ctx, s.f, "Sales.Sale", func() (shop.Sale, error) { return s.SaleStore.Sale(ctx, id) })
}

func (s sales) MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error {
	return s.f(ctx, "Sales.MarkLoaded", func() error { return s.SaleStore.MarkLoaded(ctx, sale, epoch, version) })
}

func (s sales) AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error) {
	return through(ctx, s.f, "Sales.AdvanceEpoch",
		func() (int64, error) { return s.SaleStore.AdvanceEpoch(ctx, partition, above) })
}
