// Package alipay implements payment.Gateway for Alipay: page, wap, app and QR payment, query, close, refund, and
// notifications, signed with RSA2, in public-key or certificate mode. The library smartwalle/alipay signs, calls and
// verifies; this package adds the missing checks.
//
//	Pay: page, wap, app sign only; QR makes one call          pay.go
//	Query, Close                                              trade.go
//	Refund, Refunded                                          refund.go
//	Notified verifies a notification to the shop              notify.go
//	call: one request, its verified reply or unknown          call.go
//	limits of time and length, invalid keys                   http.go, keys.go
//	breaker: limits calls to an unavailable gateway           breaker.go
//
// A result without the gateway's signature is unknown, never a rejection: such errors wrap shop.ErrTransient. Only this
// package uses amounts in yuan, as text, and times in Asia/Shanghai.
package alipay
