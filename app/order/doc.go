// Package order is a buy from the request to its row and its end without payment.
//
//	buy ─▶ [Checkout] ─▶ [Gate]: one Lua step ─▶ entry ─▶ [Fulfiller]: row ─▶ [Effects]: message, deadline
//	                                                          │ pay_by
//	                                                          ▼
//	                                        [Expirer]: expired or cancelled ─▶ [Effects]: units back, message
//
// Promises: P1 to P5 (see package app). [SoldOutFlags] refuses most buys of an empty sale in memory; nothing in memory
// refuses a buyer who already holds something (I9). The states are those of [shop.OrderState]; the row alone decides
// (I1).
package order
