package recovery

import (
	"context"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	Return(ctx context.Context, returns []shop.Return) ([]bool, error)
	Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error)
	Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error)
	Schedule(ctx context.Context, partition int, deadlines []shop.Deadline) error
	Holds(ctx context.Context, sale shop.SaleRef, cursor uint64) ([]shop.OpenHold, uint64, error)
	Mark(ctx context.Context, sale shop.SaleRef) (shop.HoldsMark, error)
	Correct(ctx context.Context, sale shop.SaleRef, c shop.Correction) (bool, error)
	Audit(ctx context.Context, sale shop.SaleRef) (shop.SaleAudit, error)
	Terms(ctx context.Context, sale shop.SaleRef) (shop.SaleTerms, error)
	Retire(ctx context.Context, sale shop.SaleRef) (bool, error)
}

// PaymentStore is the durable truth about money that comes in. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type PaymentStore interface {
	EndTraded(ctx context.Context, orders []shop.ID, to shop.OrderState, now shop.Millis) ([]shop.Order, error)
	CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error
}

// OrderStore is the durable truth about orders (MySQL). Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or
// ErrNoRow.
type OrderStore interface {
	InsertLost(ctx context.Context, epoch int64, rows []shop.NewOrder, w *shop.MoneyWatch) ([]shop.Inserted, error)
	EndLost(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error)
	ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error)
	Revive(ctx context.Context, claimed shop.Order, epoch int64, payBy shop.Millis) (shop.Order, error)
	Order(ctx context.Context, id shop.ID) (shop.Order, error)
	OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error)
	OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error)
	RestampSince(ctx context.Context, ids []shop.ID, since shop.Millis) error
	Untold(ctx context.Context, before shop.Millis, limit int, but ...int) ([]shop.Order, error)
	Overdue(ctx context.Context, before shop.Millis, limit int, but ...int) ([]shop.Order, error)
}

// SaleStore is the durable truth about what is on sale and how far each partition has come.
type SaleStore interface {
	Sale(ctx context.Context, id shop.ID) (shop.Sale, error)
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
}

// RefundStore is the durable truth about refunds. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type RefundStore interface {
	AskRefund(ctx context.Context, ask payment.RefundAsk) (shop.Order, error)
	DecideRefund(ctx context.Context, d payment.RefundDecision) (shop.Order, error)
}
