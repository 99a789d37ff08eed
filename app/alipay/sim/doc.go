// Package sim simulates Alipay's open gateway for a shop on one machine: the signed protocol (RSA2), a cashier page
// with Pay and Close buttons, notifications that are repeated until the shop replies success, and a ledger of all
// money. It is for trials and tests; it never runs inside a server.
//
// # Addresses
//
//	POST /gateway.do            alipay.trade.query, .close, .precreate, .refund, .fastpay.refund.query
//	GET  /gateway.do            alipay.trade.page.pay, .wap.pay, .app.pay: redirects a browser to the cashier
//	GET  /qr/{token}            target of a QR code
//	GET  /cashier/{token}       the cashier
//	POST /cashier/{token}/pay   the buyer pays; /close: the buyer cancels
//	     /admin/…               below
//
// As at the real gateway, a trade exists once the buyer opens the cashier, not when the shop signs. Before that, query
// and close return ACQ.TRADE_NOT_EXIST. A trade that is unpaid at time_expire closes automatically. The simulator
// deletes an unpaid trade 48 hours after time_expire and a paid one 7 days after it: calls for it then return
// ACQ.TRADE_NOT_EXIST. The sums of the ledger remain.
//
// # Admin: act as the buyer, inject faults, read the ledger
//
//	GET    /admin/ledger               {"taken_fen","refunded_fen","trades":[…]}, the sums since the start
//	POST   /admin/trades/{order}/pay   the buyer of that order pays (the trade must exist)
//	POST   /admin/trades/{order}/close the buyer cancels
//	POST   /admin/trades/{order}/late  money in transit arrives after the trade was closed
//	POST   /admin/trades/{order}/repeat the shop receives another notification about the trade
//	GET    /admin/faults               the active faults
//	POST   /admin/faults               {"kind","order","method","times","delay_ms"} → the fault, with its id
//	DELETE /admin/faults               deletes all faults; /admin/faults/{id}: deletes one fault
//
// A fault applies to one order, or to all if order is empty, and to calls of one method, or of all methods. It ends
// after `times` uses; with times 0 it ends when it is deleted. Kinds:
//
//	notify_duplicate  each notification is delivered twice
//	notify_delay      … after delay_ms
//	notify_reorder    "paid" is delivered first, the older "waiting" and a stale "closed" after it
//	notify_lose       … never
//	notify_amount     … with one fen more, correctly signed
//	notify_app        … for another shop's app, correctly signed
//	notify_signature  … signed with a wrong key
//	notify_cert       … with an unknown alipay_cert_sn
//	notify_gbk        … in GBK, correctly signed
//	paid_after_close  the shop's close returns "closed", and then the money arrives
//	paid_before_close the buyer pays just before the shop's close arrives
//	error_though_done the call is executed, and the reply is ACQ.SYSTEM_ERROR
//	lost              the call is executed, and the connection is closed without a reply
//	garbage           the call is executed, and the reply is an unrelated web page
//	answer_signature  the call is executed, and the reply is signed with a wrong key
//	down              the call is not executed, and the connection is closed
//	slow              the call waits delay_ms first
//	not_permitted     the call is rejected, because the account lacks its permission
package sim
