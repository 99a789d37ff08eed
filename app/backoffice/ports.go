package backoffice

import (
	"context"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// Reader reads lists and totals from the store or its replica; no decision depends on them. Searches use indexes and
// never scan a whole table. Errors wrap ErrTransient or ErrNoRow.
type Reader interface {
	FindOrders(ctx context.Context, q store.OrderSearch) (orders []shop.Order, more bool, err error)
	FindUsers(ctx context.Context, q store.UserSearch) (users []shop.User, more bool, err error)
	FindPayments(ctx context.Context, q store.PaymentSearch) (payments []payment.ReceivedPayment, more bool, err error)
	Payment(ctx context.Context, tradeNo string) (payment.ReceivedPayment, error)
	SumSale(ctx context.Context, sale shop.ID, from, to shop.Millis) (store.ReportSums, error)
}
