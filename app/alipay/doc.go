// Package alipay implements payment.Gateway for Alipay: page, wap, app and QR payment, query, close, refund, and
// notifications, signed with RSA2, in public-key or certificate mode. The library smartwalle/alipay signs, calls and
// verifies; this package makes the checks that the library omits.
//
//	Pay: page, wap and app are only signed; QR makes a call    pay.go
//	Query, Close                                               trade.go
//	Refund, Refunded                                           refund.go
//	VerifyNotification verifies a notification of the gateway  notify.go
//	`call` sends a request and returns its verified reply      call.go
//	timeout and size limit of replies, validation of keys      http.go, keys.go
//	pause after repeated faults of the gateway                 breaker.go
//
// A result without the gateway's signature is unknown; it is not treated as a rejection. Its error wraps
// shop.ErrTransient. Only this package uses amounts in yuan, as text, and times in Asia/Shanghai.
package alipay
