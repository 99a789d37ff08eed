package ports

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
