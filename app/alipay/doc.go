// Package alipay is Alipay behind payment.Gateway: page, wap, app and QR payment, query, close, refund, and
// notifications, signed with RSA2, in public-key or certificate mode. The wire is spoken by smartwalle/alipay, which
// signs, calls and verifies; what it leaves to its user is here.
//
//	Pay      page, wap, app: only signs (pay.go); QR: asks (precreate)
//	Query, Close                                              trade.go
//	Refund, Refunded                                          refund.go
//	Notified verifies what the gateway sends to the shop      notify.go
//	call: one question, its verified answer or unknown        call.go, answer.go
//	bounds of time and length, keys that are none             http.go, keys.go
//	breaker: an absent gateway is not asked by everybody      breaker.go
//
// What the gateway does not say with its signature is unknown, never a no: such errors wrap shop.ErrTransient. Yuan
// exist in this package only, as text; Asia/Shanghai too.
package alipay
