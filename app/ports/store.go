package ports

import (
	"context"

	"stampede/app/shop"
)

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	// Insert writes the rows and takes their units from the sales, in one transaction. ErrStaleEpoch: epoch is not the
	// sales'; nothing is written. An existing row is returned as it is. A pending order becomes refused whose key the
	// buyer has used (ReasonKey), or that finds no units or no sale (ReasonGuard, ReasonNoSale), in the order of their
	// tickets. ErrPermanent names no row: halve and repeat (of one row alone, ErrIDTaken is final). Rows count as
	// published: the pending entry guarantees it (see Fulfiller).
	Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error)
	// InsertLost is Insert for orders that the database has lost: it refuses none. Without units or a sale: *StuckSale
	// of ErrScarce, nothing is written. The rows count as not published, and are watched for money; nil: they are not.
	InsertLost(ctx context.Context, epoch int64, rows []shop.NewOrder, w *shop.MoneyWatch) ([]shop.Inserted, error)
	// EndLost ends pending orders under their first hold, which Redis shows to have ended: expired if they are due at
	// the instant now, otherwise cancelled (ReasonRecovered). It returns all rows that exist, in their new states.
	EndLost(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	// Expire sets pending orders that are due at the instant now (pay_by ≤ now, no trade opened) to expired and returns
	// their units to the guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending.
	// It returns all rows that exist, in their new states.
	Expire(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	// Cancel flips a pending order of the user, no trade opened, to cancelled and gives its units back to the guard. It
	// answers the row as it is afterwards, flipped or not; ErrNoRow if there is none or it is another user's.
	Cancel(ctx context.Context, order, user shop.ID, now shop.Millis) (shop.Order, error)
	// ClaimHold raises the hold number of an order that is in the state given, so that a new hold can be
	// taken under it, and answers the row. ErrNoRow: it is not in that state. ErrArchived: it is in the archive.
	ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error)
	// Revive flips a refused order to pending under its claimed hold number with a new deadline and the given texts,
	// and takes its units through the guard, in one transaction. ErrStaleEpoch: epoch, read before the hold, is not the
	// sale's. ErrNoRow: it is not refused with that hold. ErrPermanent: no unit is free, or the texts cannot be stored.
	Revive(ctx context.Context, claimed shop.Order, epoch int64, payBy shop.Millis) (shop.Order, error)
	// Order reads one row. ErrNoRow if there is none.
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	// OrdersByID reads the rows that exist among the ids.
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
	// OrdersOf pages through a user's orders, newest first; more reports whether older ones exist.
	OrdersOf(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
	// OrdersOfSale walks through all orders of a sale in the order of their ids, after the id given.
	OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error)
	// MarkTold notes that the rows were published in the states given.
	MarkTold(ctx context.Context, told []*shop.Order) error
	// Restamp makes the changes of rows as new as now, so that absent nodes find them, and answers the rows, stamped.
	Restamp(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
	// RestampSince does that for the rows that were stamped at the instant given or later, and answers nothing.
	RestampSince(ctx context.Context, ids []shop.ID, since shop.Millis) error
	// Untold lists orders with an unpublished state, changed before the instant, the oldest first, except in the
	// partitions but.
	Untold(ctx context.Context, before shop.Millis, limit int, but ...int) ([]shop.Order, error)
	// Overdue lists pending orders with pay_by before the instant, those without an opened trade first, likewise.
	Overdue(ctx context.Context, before shop.Millis, limit int, but ...int) ([]shop.Order, error)
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
