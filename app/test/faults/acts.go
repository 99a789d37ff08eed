package faults

import (
	"context"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/ports"
	"stampede/app/shop"
)

// Acts puts a fault before a store of acts.
func Acts(to ports.ActStore, f Fault) ports.ActStore { return acts{to, f} }

type acts struct {
	ports.ActStore
	f Fault
}

func (a acts) Act(
	ctx context.Context, actor journal.Actor, do func(ctx context.Context) (journal.Act, error),
) (journal.Done, error) {
	return through(ctx, a.f, "Acts.Act", func() (journal.Done, error) { return a.ActStore.Act(ctx, actor, do) })
}

// SaleEditor puts a fault before a store of what operators decide about sales.
func SaleEditor(to backoffice.SaleEditor, f Fault) backoffice.SaleEditor { return saleEditor{to, f} }

type saleEditor struct {
	backoffice.SaleEditor
	f Fault
}

func (e saleEditor) SettleStock(ctx context.Context, id, taken, epoch int64) (shop.StockAct, error) {
	return through(ctx, e.f, "Editor.SettleStock",
		func() (shop.StockAct, error) { return e.SaleEditor.SettleStock(ctx, id, taken, epoch) })
}

// SaleKeeper puts a fault before what makes that count in Redis.
func SaleKeeper(to backoffice.SaleKeeper, f Fault) backoffice.SaleKeeper { return saleKeeper{to, f} }

type saleKeeper struct {
	backoffice.SaleKeeper
	f Fault
}

func (k saleKeeper) SetTerms(ctx context.Context, s *shop.Sale) error {
	return k.f(ctx, "Keeper.SetTerms", func() error { return k.SaleKeeper.SetTerms(ctx, s) })
}

func (k saleKeeper) TakeOut(
	ctx context.Context, sale shop.SaleRef, act, units int64,
) (taken, epoch int64, err error) {
	taken, err = through(ctx, k.f, "Keeper.TakeOut", func() (n int64, err error) {
		n, epoch, err = k.SaleKeeper.TakeOut(ctx, sale, act, units)
		return n, err
	})
	return taken, epoch, err
}

// Shipments puts a fault before a store of parcels.
func Shipments(to backoffice.ShipmentStore, f Fault) backoffice.ShipmentStore {
	return shipments{to, f}
}

type shipments struct {
	backoffice.ShipmentStore
	f Fault
}

func (s shipments) ConfirmReceipt(ctx context.Context, order, user shop.ID) (row shop.Order, asked bool, err error) {
	row, err = through(ctx, s.f, "Shipments.ConfirmReceipt", func() (row shop.Order, err error) {
		row, asked, err = s.ShipmentStore.ConfirmReceipt(ctx, order, user)
		return row, err
	})
	return row, asked, err
}
