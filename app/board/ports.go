package board

import (
	"context"

	"stampede/app/shop"
)

// SaleFiguresStore keeps what the processes have counted of each sale, for SaleFiguresLife after the last word.
type SaleFiguresStore interface {
	// SaySaleFigures replaces what the same process has stored of each sale: a repeat changes nothing.
	SaySaleFigures(ctx context.Context, all []SaleFigures) error
}

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	// Counters reads the numbers of the sales, in the order asked for. A PartitionsAway beside them: of the sales of
	// those partitions only the id is told.
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	// Sale reads one sale with its product. ErrNoRow if there is none.
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	// MarkLoaded sets the epoch of a sale that was never loaded, or has this epoch already. ErrStaleEpoch: the sale or
	// the partition has another one, or the sale another version: Redis has terms that were edited since.
	MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error
	// RestoreLoaded is MarkLoaded for a sale that was loaded with so many initial units, and the database has forgotten
	// it. Was it archived since, it is no longer: a sale that was loaded cannot be.
	RestoreLoaded(ctx context.Context, sale shop.ID, epoch, version, initial int64) error
	// RestoreTerms sets price, limits, window and pause of a sale to those of a later version; it reports whether it
	// did.
	RestoreTerms(ctx context.Context, sale shop.ID, terms shop.SaleTerms) (bool, error)
	// PartitionEpoch reads the epoch of a partition and the highest seq that any of its rows has.
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
	// Witnesses names, for each sale that Redis should have, the order with the highest seq of its rows.
	Witnesses(ctx context.Context, partition int) ([]shop.Witness, error)
	// AdvanceEpoch gives the partition and its loaded sales the next epoch: no older transaction can take units any
	// more.
	AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error)
	// LoadedSales lists the sales of a partition that were loaded and are not retired.
	LoadedSales(ctx context.Context, partition int) ([]shop.Sale, error)
	// UnloadedSales lists those that were not, and are open within a day of the instant.
	UnloadedSales(ctx context.Context, partition int, at shop.Millis) ([]shop.Sale, error)
	// FreeUnits reads how many units the guard of each of the sales has left.
	FreeUnits(ctx context.Context, sales []shop.ID) (map[shop.ID]int64, error)
	// WriteOff counts units as withdrawn that Redis has no more. ErrStaleEpoch: another epoch, or fewer units are free.
	WriteOff(ctx context.Context, sale shop.ID, units, epoch int64) error
	// RestoreAdded raises the added units of a sale to a total that Redis has seen committed, and answers by how many.
	RestoreAdded(ctx context.Context, sale shop.ID, added int64) (int64, error)
	// StockActs lists the withdrawals of a sale that are settled.
	StockActs(ctx context.Context, sale shop.ID) ([]shop.StockAct, error)
	// SaleTotals sums the rows of one sale inside one snapshot.
	SaleTotals(ctx context.Context, sale shop.ID) (shop.SaleTotals, error)
	// LockPartition runs fn while no other process can recover the partition.
	LockPartition(ctx context.Context, partition int, fn func(ctx context.Context) error) error
	// MarkRetired notes that a sale's keys have left Redis for good, unless it has another epoch: they may be back.
	MarkRetired(ctx context.Context, sale shop.ID, epoch int64) error
	// ToldUntil is the database's instant before which new rows of the partition were published; 0: nobody knows.
	ToldUntil(ctx context.Context, partition int) (shop.Millis, error)
	// SetToldUntil moves that instant forward; an earlier one than is known changes nothing.
	SetToldUntil(ctx context.Context, partition int, at shop.Millis) error
}

// CatalogueStore reads what is offered.
type CatalogueStore interface {
	// Version grows with every change of slots, sales and products.
	Version(ctx context.Context) (int64, error)
	// SaleIDs lists the ids of all sales, for the Bloom filter.
	SaleIDs(ctx context.Context) ([]shop.ID, error)
	// Slots lists the slots that overlap [from, to) and are not hidden, in the order of their windows.
	Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error)
	// Slot reads one slot. ErrNoRow if there is none.
	Slot(ctx context.Context, id shop.ID) (shop.Slot, error)
	// Sale reads one sale with its product. ErrNoRow if there is none.
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	// Sales reads those of the sales that there are, with their products, in no order.
	Sales(ctx context.Context, ids []shop.ID) ([]shop.Sale, error)
	// SalesOfSlot lists the sales of a slot with their products, in the order they are shown.
	SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error)
	// SalesByPhase pages through the sales of a phase at the instant now; page starts at 1.
	SalesByPhase(
		ctx context.Context, phase shop.Phase, now shop.Millis, page, size int,
	) (sales []shop.Sale, more bool, err error)
	// Products pages through the products; category 0 means all.
	Products(ctx context.Context, category shop.ID, page, size int) (products []shop.Product, more bool, err error)
	// Product reads one product with description and rules. ErrNoRow if there is none.
	Product(ctx context.Context, id shop.ID) (shop.Product, error)
	// Categories lists all categories in their order.
	Categories(ctx context.Context) ([]shop.Category, error)
}
