// Package payment is money: the buyer pays at a gateway that belongs to somebody else.
//
//	[Cashier.Pay]     trade noted in the row ─▶ gateway                                              start.go
//	[Cashier.Settle]  notification │ query │ answer to a close ─▶ payments row + pending → paid
//	                  ─▶ held → sold ─▶ message                                                      settle.go
//	close             ask the gateway to end the trade ─▶ expired │ cancelled ─▶ units back ─▶ message   close.go
//	resolve           the order had ended ─▶ revived, or refunded                                    late.go
//	[Refunder]        refunding ─▶ gateway ─▶ refunded ─▶ units withdrawn ─▶ message                 refund_send.go
//
// The gateway may answer late, twice, in another order, or not at all. So each trade goes through Settle, the database
// alone decides what it means, and a repeat gets the same result (I1, I6). [PayReconciler] asks about silent trades,
// and daily bills are compared with the rows. Promise: P8, money is never lost.
package payment
