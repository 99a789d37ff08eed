package faults

import (
	"context"

	"stampede/app"
)

// Orders puts a fault before an order store.
func Orders(to app.OrderStore, f Fault) app.OrderStore { return orders{to, f} }

type orders struct {
	app.OrderStore
	f Fault
}

func (o orders) Insert(ctx context.Context, epoch int64, rows []app.NewOrder) ([]app.Inserted, error) {
	return through(ctx, o.f, "Orders.Insert",
		func() ([]app.Inserted, error) { return o.OrderStore.Insert(ctx, epoch, rows) })
}

func (o orders) InsertLost(
	ctx context.Context, epoch int64, rows []app.NewOrder, w *app.MoneyWatch,
) ([]app.Inserted, error) {
	return through(ctx, o.f, "Orders.InsertLost",
		func() ([]app.Inserted, error) { return o.OrderStore.InsertLost(ctx, epoch, rows, w) })
}

func (o orders) EndLost(ctx context.Context, ids []app.ID, now app.Millis) ([]app.Order, error) {
	return through(ctx, o.f, "Orders.EndLost",
		func() ([]app.Order, error) { return o.OrderStore.EndLost(ctx, ids, now) })
}

func (o orders) Expire(ctx context.Context, ids []app.ID, now app.Millis) ([]app.Order, error) {
	return through(ctx, o.f, "Orders.Expire",
		func() ([]app.Order, error) { return o.OrderStore.Expire(ctx, ids, now) })
}

func (o orders) Cancel(ctx context.Context, order, user app.ID, now app.Millis) (app.Order, error) {
	return through(ctx, o.f, "Orders.Cancel",
		func() (app.Order, error) { return o.OrderStore.Cancel(ctx, order, user, now) })
}

func (o orders) ClaimHold(ctx context.Context, order app.ID, in app.OrderState) (app.Order, error) {
	return through(ctx, o.f, "Orders.ClaimHold",
		func() (app.Order, error) { return o.OrderStore.ClaimHold(ctx, order, in) })
}

func (o orders) Revive(ctx context.Context, claimed app.Order, epoch int64, payBy app.Millis) (app.Order, error) {
	return through(ctx, o.f, "Orders.Revive",
		func() (app.Order, error) { return o.OrderStore.Revive(ctx, claimed, epoch, payBy) })
}

func (o orders) Order(ctx context.Context, id app.ID) (app.Order, error) {
	return through(ctx, o.f, "Orders.Order", func() (app.Order, error) { return o.OrderStore.Order(ctx, id) })
}

func (o orders) OrdersOfSale(ctx context.Context, sale, after app.ID, limit int) ([]app.Order, error) {
	return through(ctx, o.f, "Orders.OrdersOfSale",
		func() ([]app.Order, error) { return o.OrderStore.OrdersOfSale(ctx, sale, after, limit) })
}

func (o orders) Restamp(ctx context.Context, ids []app.ID) ([]app.Order, error) {
	return through(ctx, o.f, "Orders.Restamp",
		func() ([]app.Order, error) { return o.OrderStore.Restamp(ctx, ids) })
}

// Sales puts a fault before a sale store.
func Sales(to app.SaleStore, f Fault) app.SaleStore { return sales{to, f} }

type sales struct {
	app.SaleStore
	f Fault
}

func (s sales) Sale(ctx context.Context, id app.ID) (app.Sale, error) {
	return through(ctx, s.f, "Sales.Sale", func() (app.Sale, error) { return s.SaleStore.Sale(ctx, id) })
}

func (s sales) MarkLoaded(ctx context.Context, sale app.ID, epoch, version int64) error {
	return s.f(ctx, "Sales.MarkLoaded", func() error { return s.SaleStore.MarkLoaded(ctx, sale, epoch, version) })
}

func (s sales) AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error) {
	return through(ctx, s.f, "Sales.AdvanceEpoch",
		func() (int64, error) { return s.SaleStore.AdvanceEpoch(ctx, partition, above) })
}
