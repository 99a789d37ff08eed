// Package payment handles money. The buyer pays at the gateway of an external provider.
//
//	[PaymentService.Pay]     trade stored in the row ─▶ gateway                                             start.go
//	[PaymentService.Settle]  notification │ query │ reply to a close ─▶ payments row + pending → paid
//	                  ─▶ held → sold ─▶ message                                                      settle.go
//	close             end the trade at the gateway ─────▶ expired │ cancelled ─▶ units back ─▶ message   close.go
//	resolve           the order had ended ─▶ revived, or refunded                                    late.go
//	[Refunder]        refunding ─▶ gateway ─▶ refunded ─▶ units withdrawn ─▶ message                 refund_send.go
//
// The gateway may reply late, twice, in another order, or never. So each trade goes through Settle, the database alone
// decides its effect, and a repeat gets the same result (I1, I6). [PayReconciler] queries trades without a
// notification, and [DailyReconciliation] compares the payments of a day with the gateway.
// Promise: P8, money is never lost.
package payment
