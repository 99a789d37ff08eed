// Package order handles a buy from the request to its row, and the end of an order without payment.
//
//	buy ─▶ [Checkout] ─▶ [Gate]: one Lua step ─▶ entry ─▶ [Fulfiller]: row ─▶ [Effects]: message, deadline
//	                                                          │ pay_by
//	                                                          ▼
//	                                        [Expirer]: expired or cancelled ─▶ [Effects]: units back, message
//
// Promises: P1 to P5 (see package app). [SoldOutFlags] rejects most buys of a sold-out sale in memory. Nothing in
// memory rejects a buyer who already holds units (I9). The states are those of [shop.OrderState]; only the row decides
// them (I1).
package order
