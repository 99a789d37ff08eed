package recovery

import (
	"context"

	"stampede/app/payment"
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
	// Withdraw takes units of refunded orders out of the sale for good; they still count to the limit. Otherwise like
	// Sell.
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	// Hold takes units for an existing order (see HoldRequest). Taking the same (order, hold) twice changes nothing.
	Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error)
	// Schedule enters deadlines into the delay queue; one that is there already keeps its score.
	Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error
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
	// Retire deletes the keys of a closed sale of which nothing is left; false when something is.
	Retire(ctx context.Context, sale shop.SaleRef) (bool, error)
}

// PaymentStore is the durable truth about money that comes in. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type PaymentStore interface {
	// EndTraded sets pending orders, whose trades must be over, to cancelled or expired and returns their units to the
	// guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending. It returns all rows
	// that exist, in their new states.
	EndTraded(ctx context.Context, orders []shop.ID, to shop.OrderState, now shop.Millis) ([]shop.Order, error)
	// CheckTrades sets, at the instant now, when trades are asked about next; 0: never. Settled ones stay as they are.
	CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	// InsertLost is Insert for orders that the database has lost: it refuses none. Without units or a sale: *StuckSale
	// of ErrScarce, nothing is written. The rows count as not published, and are watched for money; nil: they are not.
	InsertLost(ctx context.Context, epoch int64, rows []shop.NewOrder, w *shop.MoneyWatch) ([]shop.Inserted, error)
	// EndLost ends pending orders under their first hold, which Redis shows to have ended: expired if they are due at
	// the instant now, otherwise cancelled (ReasonRecovered). It returns all rows that exist, in their new states.
	EndLost(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
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
	// OrdersOfSale walks through all orders of a sale in the order of their ids, after the id given.
	OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error)
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
}

// RefundStore is the durable truth about refunds. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type RefundStore interface {
	// AskRefund enters what the buyer of a paid or shipped order wants, and tells so in the order's reason. It answers
	// the row as it is afterwards, changed or not; ErrNoRow if there is none or it is another user's.
	AskRefund(ctx context.Context, ask payment.RefundAsk) (shop.Order, error)
	// DecideRefund flips a paid or shipped order to refunding, or declines what was asked for. A repeat answers the
	// order as it is. ErrNoRow: the order is in no such state, or there is nothing to decline.
	DecideRefund(ctx context.Context, d payment.RefundDecision) (shop.Order, error)
}
