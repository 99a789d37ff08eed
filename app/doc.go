// Package app is a map of the program: its promises and invariants, and the packages that keep them. It contains no
// code.
//
// # An order
//
//	shopper ── buy ──▶ order.Checkout ──▶ Gate ──▶ one Lua step in Redis ──▶ stream entry       order/checkout.go
//	   ▲                                    stock−, limit, hold, ticket        │
//	   │ reserved: order id, ticket, place                                     ▼
//	   │                                              order.Fulfiller: row in MySQL       order/fulfil.go
//	   │ order: pending, pay_by ◀── message after COMMIT ◀────────┘   │                   order/effects.go
//	   │                                                              ▼ deadline
//	   │ order: expired ◀── message ◀── units back ◀── COMMIT ◀── order.Expirer           order/expire.go
//	   │                                        the gateway first, ▲ if a payment was opened   payment/closer.go
//	   ├── pay ──▶ payment.Cashier ──▶ trade noted in the row ──▶ where to pay at the gateway  payment/start.go
//	   │ order: paid ◀── message ◀── held→sold ◀── COMMIT ◀── Settle ◀── the gateway's answer  payment/settle.go
//
// # Packages
//
// Each may import those to its left. The flows, up to recovery, use the standard library only, and reach Redis, the
// database and the gateway through interfaces, between which tests inject faults. archive, privacy and backoffice use
// the database itself.
//
//	trace ← shop ← journal ← outbox ← catalog ← admission ← board ← order ← payment ← recovery ← store
//	      ← archive ← privacy ← backoffice
//	      ← adapters: streams realtime api account alipay mail webhook picture limits ← server ← cmd
//
// # The promises
//
//   - P1 Never oversold: the stock equation holds in Redis and in MySQL.
//   - P2 An answered reservation is not lost by the crash of any one process.
//   - P3 "reserved" after the Lua step, "order created" only after MySQL committed.
//   - P4 The limit per buyer holds; the same key gives the same answer as long as the sale lives.
//   - P5 An expired unit is back on sale within one second of its deadline, or of the gateway's answer if a payment
//     was opened.
//   - P6 A client that reconnects learns the newest state of every order that changed meanwhile, or is told to read
//     all.
//   - P7 XINFO GROUPS tells the truth.
//   - P8 Money is never lost: what comes after an order has ended revives it if a unit is free, else is given back, and
//     the buyer sees which.
//
// The invariants that keep them are named I1–I11 in the comments, where they are kept: I1 one id, one row,
// one fate. I2 free units in Redis ≤ free units in MySQL. I3 stock, limit and hold change together, keyed by
// (order, hold). I4 done moves by what XACK returned, after COMMIT, event and deadline. I5 taken changes only
// with the rows it counts. I6 unknown is not failed. I7 absent is not empty. I8 seq never goes backwards, and what a
// node or a row knows to have been accepted is in Redis, which has one history. I9 the key lookup precedes every
// refusal of a holder. I10 Redis time decides. I11 hints have an age limit.
//
// After the commit rows are the log (effects.go): F1 the database stamps each new state. F2 what is published was
// stamped a moment ago, else it is stamped anew. F3 somebody owes it until it is told: an entry, or the row. F4
// messages are a chain. F5 a node knows until when it has heard everything, and reads rows where it has not. F6 a
// cursor is such an instant.
package app
