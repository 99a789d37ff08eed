package board

import (
	"context"

	"stampede/app/shop"
)

// SaleFiguresStore keeps what the processes have counted of each sale, for SaleFiguresLife after the last word.
type SaleFiguresStore interface {
	SaySaleFigures(ctx context.Context, all []SaleFigures) error
}

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error
	RestoreLoaded(ctx context.Context, sale shop.ID, epoch, version, initial int64) error
	RestoreTerms(ctx context.Context, sale shop.ID, terms shop.SaleTerms) (bool, error)
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
	Witnesses(ctx context.Context, partition int) ([]shop.Witness, error)
	AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error)
	LoadedSales(ctx context.Context, partition int) ([]shop.Sale, error)
	UnloadedSales(ctx context.Context, partition int, at shop.Millis) ([]shop.Sale, error)
	FreeUnits(ctx context.Context, sales []shop.ID) (map[shop.ID]int64, error)
	WriteOff(ctx context.Context, sale shop.ID, units, epoch int64) error
	RestoreAdded(ctx context.Context, sale shop.ID, added int64) (int64, error)
	StockActs(ctx context.Context, sale shop.ID) ([]shop.StockAct, error)
	SaleTotals(ctx context.Context, sale shop.ID) (shop.SaleTotals, error)
	LockPartition(ctx context.Context, partition int, fn func(ctx context.Context) error) error
	MarkRetired(ctx context.Context, sale shop.ID, epoch int64) error
	ToldUntil(ctx context.Context, partition int) (shop.Millis, error)
	SetToldUntil(ctx context.Context, partition int, at shop.Millis) error
}

// CatalogueStore reads what is offered.
type CatalogueStore interface {
	Version(ctx context.Context) (int64, error)
	SaleIDs(ctx context.Context) ([]shop.ID, error)
	Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error)
	Slot(ctx context.Context, id shop.ID) (shop.Slot, error)
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	Sales(ctx context.Context, ids []shop.ID) ([]shop.Sale, error)
	SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error)
	SalesByPhase(
		ctx context.Context, phase shop.Phase, now shop.Millis, page, size int,
	) (sales []shop.Sale, more bool, err error)
	Products(ctx context.Context, category shop.ID, page, size int) (products []shop.Product, more bool, err error)
	Product(ctx context.Context, id shop.ID) (shop.Product, error)
	Categories(ctx context.Context) ([]shop.Category, error)
}
