package order

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
	// Return gives units back, all in the fewest calls; a second return of the same (order, hold) does
	// nothing. The result tells which ones did something. A PartitionsAway: those of its partitions may be as before.
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	// Sell moves units from held to sold, all in the fewest calls, once per (order, hold). The result is like Return's.
	Sell(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	// Withdraw takes units of refunded orders out of the sale for good; they still count to the limit. Otherwise like
	// Sell.
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	// Waiting lists the reservations of the user that are not settled yet, over all partitions. A PartitionsAway beside
	// them: there may be more in those partitions.
	Waiting(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
	// Buyers lists who had a reservation of the sale accepted since the mark; the cost grows with what the whole
	// partition has accepted since. With the zero mark, and where Redis can no longer tell, it lists everyone.
	Buyers(ctx context.Context, sale shop.SaleRef, since shop.BuyersMark) (shop.Buyers, error)
	// Schedule enters deadlines into the delay queue; one that is there already keeps its score.
	Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error
	// Finish adds the deadlines, publishes one message and acknowledges the entries of new rows of a partition in one
	// step. asOf and ErrTooLate are those of Notifier; after ErrTooLate nothing was done. A repeat is safe.
	Finish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry) error
	// Delivery tells how far the consumers of a partition are. ErrTransient: also until Redis was checked for losses.
	Delivery(ctx context.Context, partition int) (shop.Delivery, error)
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	// Insert writes the rows and takes their units from the sales, in one transaction. ErrStaleEpoch: epoch is not the
	// sales'; nothing is written. An existing row is returned as it is. A pending order becomes refused whose key the
	// buyer has used (ReasonKey), or that finds no units or no sale (ReasonGuard, ReasonNoSale), in the order of their
	// tickets. ErrPermanent names no row: halve and repeat (of one row alone, ErrIDTaken is final). Rows count as
	// published: the pending entry guarantees it (see Fulfiller).
	Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error)
	// Expire sets pending orders that are due at the instant now (pay_by ≤ now, no trade opened) to expired and returns
	// their units to the guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending.
	// It returns all rows that exist, in their new states.
	Expire(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	// Cancel flips a pending order of the user, no trade opened, to cancelled and gives its units back to the guard. It
	// answers the row as it is afterwards, flipped or not; ErrNoRow if there is none or it is another user's.
	Cancel(ctx context.Context, order, user shop.ID, now shop.Millis) (shop.Order, error)
	// Order reads one row. ErrNoRow if there is none.
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	// OrdersOf pages through a user's orders, newest first; more reports whether older ones exist.
	OrdersOf(ctx context.Context, q shop.OrdersQuery) (orders []shop.Order, more bool, err error)
	// MarkTold notes that the rows were published in the states given.
	MarkTold(ctx context.Context, told []*shop.Order) error
	// Restamp makes the changes of rows as new as now, so that absent nodes find them, and answers the rows, stamped.
	Restamp(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
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
