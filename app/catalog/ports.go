package catalog

import (
	"context"

	"stampede/app/shop"
)

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	// Now is Redis TIME, the clock that decides windows and deadlines (I10). Its error is ErrTransient: callers name
	// it.
	Now(ctx context.Context) (shop.Millis, error)
	// Counters reads the numbers of the sales, in the order asked for. A PartitionsAway beside them: of the sales of
	// those partitions only the id is told.
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	// Create writes a sale that was never loaded, unarmed; an existing one is left as it is (I7).
	Create(ctx context.Context, epoch int64, s shop.SaleState) error
	// Arm lets an existing sale sell. ErrLost: there is no such sale in Redis.
	Arm(ctx context.Context, epoch int64, sale shop.SaleRef) error
	// SetWatching says how many people watch which sale on the node; it counts for about three seconds.
	SetWatching(ctx context.Context, node string, counts map[shop.SaleRef]int64) error
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	// Sale reads one sale with its product. ErrNoRow if there is none.
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	// MarkLoaded sets the epoch of a sale that was never loaded, or has this epoch already. ErrStaleEpoch: the sale or
	// the partition has another one, or the sale another version: Redis has terms that were edited since.
	MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error
	// PartitionEpoch reads the epoch of a partition and the highest seq that any of its rows has.
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
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
