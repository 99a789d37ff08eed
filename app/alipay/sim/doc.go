// Package sim is Alipay's open gateway as a shop meets it, on one machine: the signed protocol (RSA2), a cashier
// page where a person presses Pay or Close, notifications that are repeated until the shop answers success, and a
// ledger that says where every fen is. It is for trying out and for tests; it never runs inside a server.
//
// # Addresses
//
//	POST /gateway.do            alipay.trade.query, .close, .precreate, .refund, .fastpay.refund.query
//	GET  /gateway.do            alipay.trade.page.pay, .wap.pay, .app.pay: a browser comes here and goes on to the cashier
//	GET  /qr/{token}            what the text of a QR code leads to
//	GET  /cashier/{token}       the cashier
//	POST /cashier/{token}/pay   the buyer pays; /close: the buyer gives up
//	     /admin/…               below
//
// As with the real one a trade begins to exist when the buyer comes to the cashier, not when the shop signs. Before
// that, query and close answer ACQ.TRADE_NOT_EXIST. What is not paid by time_expire closes by itself.
//
// # Admin: be the buyer, cause faults, read the truth
//
//	GET    /admin/ledger               {"taken_fen","refunded_fen","trades":[…]}
//	POST   /admin/trades/{order}/pay   the buyer of that order pays (the trade must exist)
//	POST   /admin/trades/{order}/close the buyer gives up
//	POST   /admin/trades/{order}/late  money that was on its way arrives, although the trade was closed
//	POST   /admin/trades/{order}/repeat the shop is told once more what the trade is
//	GET    /admin/faults               the faults in force
//	POST   /admin/faults               {"kind","order","method","times","delay_ms"} → the fault, with its id
//	DELETE /admin/faults               all of them; /admin/faults/{id}: one
//
// A fault concerns the order, or with none all orders; calls of the method, or of all; and it is over after so many
// times, or with 0 when it is deleted. Kinds:
//
//	notify_duplicate  each notification is delivered twice
//	notify_delay      … after delay_ms
//	notify_reorder    "paid" is delivered first, the older "waiting" and a stale "closed" after it
//	notify_lose       … never
//	notify_amount     … with one fen more, correctly signed
//	notify_app        … for another shop's app, correctly signed
//	notify_signature  … with a signature of somebody else
//	notify_cert       … naming an alipay_cert_sn that nobody knows
//	paid_after_close  the shop's close is answered "closed", and then the money arrives all the same
//	paid_before_close the buyer pays the instant before the shop's close arrives
//	error_though_done the call is carried out and answered with ACQ.SYSTEM_ERROR
//	lost              the call is carried out and the connection cut instead of an answer
//	garbage           the call is carried out and answered with something else's web page
//	answer_signature  the call is carried out and the answer signed by somebody else
//	down              the call is not carried out, the connection is cut
//	slow              the call waits delay_ms first
package sim
