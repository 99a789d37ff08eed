package backoffice

import (
	"context"

	"stampede/app/board"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// Redis has the running sales: stock, holds, terms, and the reports of nodes and partitions. A write carries the epoch
// of its partition and fails with ErrStaleEpoch if Redis has another epoch.
type Redis interface {
	Now(ctx context.Context) (shop.Millis, error)
	Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error)
	SetTerms(ctx context.Context, s *shop.Sale) error
	WithdrawUnits(ctx context.Context, sale shop.SaleRef, withdrawal, units int64) (taken, epoch int64, err error)
	State(ctx context.Context, partition int) (shop.PartitionState, error)
	Figures(ctx context.Context) ([]board.NodeFigures, error)
	PartitionFigures(ctx context.Context) ([]board.PartitionFigures, error)
	SaleFigures(ctx context.Context, sale shop.ID) ([]board.SaleFigures, error)
}

// Reader reads lists and totals from the store or its replica; no decision depends on them. Searches use indexes and
// never scan a whole table. Errors wrap ErrTransient or ErrNoRow.
type Reader interface {
	FindOrders(ctx context.Context, q store.OrderSearch) (orders []shop.Order, more bool, err error)
	FindUsers(ctx context.Context, q store.UserSearch) (users []shop.User, more bool, err error)
	FindPayments(ctx context.Context, q store.PaymentSearch) (payments []payment.ReceivedPayment, more bool, err error)
	Payment(ctx context.Context, tradeNo string) (payment.ReceivedPayment, error)
	SumSale(ctx context.Context, sale shop.ID, from, to shop.Millis) (store.ReportSums, error)
}
