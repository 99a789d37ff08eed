package fakes

import (
	"context"

	"stampede/app/journal"
	"stampede/app/shop"
)

// ActStore is the durable truth about acts. Errors wrap ErrTransient or ErrPermanent.
type ActStore interface {
	// Act runs do and writes its journal row in one transaction, which store calls with the context of do join. do may
	// run several times; an error of it or of a joined call rolls all back. Acts are serial. DuplicateKey: the actor
	// used the key for something else.
	Act(
		ctx context.Context, actor journal.Actor, do func(ctx context.Context) (journal.Act, error),
	) (journal.Done, error)
	// JournalPage reads rows of the journal, the newest first.
	JournalPage(ctx context.Context, q journal.JournalQuery) ([]journal.JournalEntry, error)
	// JournalFrom reads rows in the order in which they were written, from a number on.
	JournalFrom(ctx context.Context, seq int64, limit int) ([]journal.JournalEntry, error)
	// JournalHead is the last row, as of the row beside the journal that is locked for each act.
	JournalHead(ctx context.Context) (journal.JournalHead, error)
}

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
	// Return gives units back, all in the fewest calls; a second return of the same (order, hold) does
	// nothing. The result tells which ones did something. A PartitionsAway: those of its partitions may be as before.
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	// Sell moves units from held to sold, all in the fewest calls, once per (order, hold). The result is like Return's.
	Sell(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	// Withdraw takes units of refunded orders out of the sale for good; they still count to the limit. Otherwise like
	// Sell.
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	// Hold takes units for an existing order (see HoldRequest). Taking the same (order, hold) twice changes nothing.
	Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error)
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
	// Holds walks through the open holds of a sale; the next cursor is 0 at the end.
	Holds(ctx context.Context, sale shop.SaleRef, cursor uint64) ([]shop.OpenHold, uint64, error)
	// Mark reads the numbers of a sale together with what changes with each of its holds, in one instant.
	Mark(ctx context.Context, sale shop.SaleRef) (shop.HoldsMark, error)
	// Correct sets the counters of a sale to what its holds add up to, unless one has changed since the mark or
	// reservations are under way. It reports whether it did. ErrPermanent: the figures do not add up.
	Correct(ctx context.Context, sale shop.SaleRef, c shop.Correction) (bool, error)
	// Audit reads a sale in one script.
	Audit(ctx context.Context, sale shop.SaleRef) (shop.SaleAudit, error)
	// Terms reads by what a sale sells: all that SaleKeeper sets, and the initial units. ErrLost: it is not in Redis.
	Terms(ctx context.Context, sale shop.SaleRef) (shop.SaleTerms, error)
	// SetWatching says how many people watch which sale on the node; it counts for about three seconds.
	SetWatching(ctx context.Context, node string, counts map[shop.SaleRef]int64) error
	// Retire deletes the keys of a closed sale of which nothing is left; false when something is.
	Retire(ctx context.Context, sale shop.SaleRef) (bool, error)
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
