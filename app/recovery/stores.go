package recovery

import (
	"context"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Redis lists the operations on the partitions in Redis that this package uses, see streams.Inventory. Errors are
// ErrTransient, ErrStaleEpoch if another recovery has claimed the partition meanwhile, or ErrLost.
type Redis interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error)
	Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error
	Holds(ctx context.Context, sale shop.SaleRef, cursor uint64) ([]shop.OpenHold, uint64, error)
	HoldsMark(ctx context.Context, sale shop.SaleRef) (shop.HoldsMark, error)
	Correct(ctx context.Context, sale shop.SaleRef, c shop.Correction) (bool, error)
	Audit(ctx context.Context, sale shop.SaleRef) (shop.SaleAudit, error)
	Terms(ctx context.Context, sale shop.SaleRef) (shop.SaleTerms, error)
	Retire(ctx context.Context, sale shop.SaleRef) (bool, error)
	DeadLetters(ctx context.Context) ([]shop.DeadLetter, error)
	DeadLetter(ctx context.Context, id string) (shop.DeadLetter, error)
	RemoveDeadLetter(ctx context.Context, id string) (bool, error)
	State(ctx context.Context, partition int) (shop.PartitionState, error)
	Missing(ctx context.Context, partition int, epoch int64, rows []shop.LastOrder) ([]shop.LastOrder, error)
	Confirm(ctx context.Context, partition int, s shop.PartitionState) error
	RecordDatabase(ctx context.Context, partition int, h shop.DatabaseHistory) error
	AcceptServer(ctx context.Context, partition int, server string) error
	SetEpoch(partition int, epoch int64)
	Close(ctx context.Context, partition int, r shop.PartitionRecovery, history string) error
	EachEntry(ctx context.Context, partition int, each func([]shop.Entry) error) error
	Evidence(ctx context.Context, sale shop.SaleRef, orders []shop.Order) (e []shop.Evidence, loaded bool, err error)
	Record(ctx context.Context, sale shop.SaleRef, order shop.ID) (shop.Entry, error)
	SetAside(ctx context.Context, claim int64, e *shop.Entry, reason string) (bool, error)
	SetStuck(ctx context.Context, claim int64, sale shop.SaleRef, reason string) error
	Restore(ctx context.Context, claim int64, s shop.SaleState) error
	Open(ctx context.Context, partition int, r shop.PartitionRecovery, seq int64) error
}

// Orders keeps the rows of orders, see store.Orders. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or ErrNoRow.
type Orders interface {
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
	OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error)
	InsertLost(ctx context.Context, epoch int64, rows []shop.NewOrder, w *shop.PaymentWatch) ([]shop.Inserted, error)
	EndLost(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	ClaimHold(ctx context.Context, order shop.ID, state shop.OrderState) (shop.Order, error)
	Revive(ctx context.Context, claimed shop.Order, epoch int64, now, payBy shop.Millis) (shop.Order, error)
	TouchSince(ctx context.Context, ids []shop.ID, since shop.Millis) error
	Unpublished(ctx context.Context, before shop.Millis, limit int, except ...int) ([]shop.Order, error)
	Overdue(ctx context.Context, before shop.Millis, limit int, except ...int) ([]shop.Order, error)
}

// Sales keeps sales and their stock guards, see store.Sales.
type Sales interface {
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
	LoadedSales(ctx context.Context, partition int) ([]shop.Sale, error)
	UnloadedSales(ctx context.Context, partition int, at shop.Millis) ([]shop.Sale, error)
	FreeUnits(ctx context.Context, sales []shop.ID) (map[shop.ID]int64, error)
	RestoreLoaded(ctx context.Context, sale shop.ID, epoch, version, initial int64) error
	RestoreTerms(ctx context.Context, sale shop.ID, terms shop.SaleTerms) (bool, error)
	RestoreAdded(ctx context.Context, sale shop.ID, added int64) (int64, error)
	WriteOff(ctx context.Context, sale shop.ID, units, epoch int64) error
	SaleTotals(ctx context.Context, sale shop.ID) (shop.SaleTotals, error)
	MarkRetired(ctx context.Context, sale shop.ID, epoch int64) error
	SettledWithdrawals(ctx context.Context, sale shop.ID) ([]shop.StockWithdrawal, error)
}

// Epochs keeps the epochs of the partitions, see store.Partitions.
type Epochs interface {
	PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error)
	LastOrders(ctx context.Context, partition int) ([]shop.LastOrder, error)
	AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error)
	LockPartition(ctx context.Context, partition int, fn func(ctx context.Context) error) error
	PublishedUntil(ctx context.Context, partition int) (shop.Millis, error)
}

// History keeps the history of the database server, see store.History.
type History interface {
	Read(ctx context.Context) (shop.DatabaseHistory, error)
	RaiseBeat(ctx context.Context, h shop.DatabaseHistory) (shop.DatabaseHistory, error)
	NewGeneration(ctx context.Context, read shop.DatabaseHistory, above int64, epochs map[int]int64) error
	Pin(server string, generation int64)
}

// Payments keeps the trades of orders, see store.Payments.
type Payments interface {
	CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error
	EndTraded(ctx context.Context, orders []shop.ID, to shop.OrderState, now shop.Millis) ([]shop.Order, error)
	TakesPayments(ctx context.Context) (bool, error)
	WatchPayments(ctx context.Context, w shop.PaymentWatch) (int, error)
}

// Refunds keeps refunds, see store.Refunds.
type Refunds interface {
	RequestRefund(ctx context.Context, request payment.BuyerRefundRequest) (shop.Order, error)
	DecideRefund(ctx context.Context, d payment.RefundDecision) (shop.Order, error)
}
