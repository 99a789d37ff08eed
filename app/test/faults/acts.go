package faults

import (
	"context"

	"stampede/app"
)

// Acts puts a fault before a store of acts.
func Acts(to app.ActStore, f Fault) app.ActStore { return acts{to, f} }

type acts struct {
	app.ActStore
	f Fault
}

func (a acts) Act(
	ctx context.Context, actor app.Actor, do func(ctx context.Context) (app.Act, error),
) (app.Done, error) {
	return through(ctx, a.f, "Acts.Act", func() (app.Done, error) { return a.ActStore.Act(ctx, actor, do) })
}

// SaleEditor puts a fault before a store of what operators decide about sales.
func SaleEditor(to app.SaleEditor, f Fault) app.SaleEditor { return saleEditor{to, f} }

type saleEditor struct {
	app.SaleEditor
	f Fault
}

func (e saleEditor) SettleStock(ctx context.Context, id, taken, epoch int64) (app.StockAct, error) {
	return through(ctx, e.f, "Editor.SettleStock",
		func() (app.StockAct, error) { return e.SaleEditor.SettleStock(ctx, id, taken, epoch) })
}

// SaleKeeper puts a fault before what makes that count in Redis.
func SaleKeeper(to app.SaleKeeper, f Fault) app.SaleKeeper { return saleKeeper{to, f} }

type saleKeeper struct {
	app.SaleKeeper
	f Fault
}

func (k saleKeeper) SetTerms(ctx context.Context, s *app.Sale) error {
	return k.f(ctx, "Keeper.SetTerms", func() error { return k.SaleKeeper.SetTerms(ctx, s) })
}

func (k saleKeeper) TakeOut(
	ctx context.Context, sale app.SaleRef, act, units int64,
) (taken, epoch int64, err error) {
	taken, err = through(ctx, k.f, "Keeper.TakeOut", func() (n int64, err error) {
		n, epoch, err = k.SaleKeeper.TakeOut(ctx, sale, act, units)
		return n, err
	})
	return taken, epoch, err
}

// Shipments puts a fault before a store of parcels.
func Shipments(to app.ShipmentStore, f Fault) app.ShipmentStore { return shipments{to, f} }

type shipments struct {
	app.ShipmentStore
	f Fault
}

func (s shipments) ConfirmReceipt(ctx context.Context, order, user app.ID) (row app.Order, asked bool, err error) {
	row, err = through(ctx, s.f, "Shipments.ConfirmReceipt", func() (row app.Order, err error) {
		row, asked, err = s.ShipmentStore.ConfirmReceipt(ctx, order, user)
		return row, err
	})
	return row, asked, err
}
