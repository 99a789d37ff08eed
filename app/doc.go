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
//	   │                                  query the gateway first, ▲ if a payment was opened payment/closer.go
//	   ├── pay ──▶ payment.PaymentService ──▶ trade stored in the row ──▶ payment URL        payment/start.go
//	   │ order: paid ◀── message ◀── held→sold ◀── COMMIT ◀── Settle ◀── gateway response    payment/settle.go
//
// # Packages
//
// A package may import those to its left. The flows, up to payment, use only the standard library. They reach Redis,
// the database and the gateway through interfaces; tests inject faults there. recovery, privacy and backoffice use the
// two stores directly.
//
//	trace ← shop ← journal ← outbox ← catalog ← admission ← board ← order ← payment ← {store, streams}
//	      ← recovery ← privacy ← backoffice
//	      ← adapters: realtime api account alipay mail webhook picture limits ← server ← cmd
//
// # Promises
//
//   - P1 Never oversold: the stock equation holds in Redis and in MySQL.
//   - P2 The crash of any one process loses no reservation that was returned to a client.
//   - P3 "reserved" is sent after the Lua step, "order created" only after the MySQL commit.
//   - P4 The limit per buyer holds. A repeated key returns the same result while the sale exists.
//   - P5 An expired unit is on sale again within one second of its deadline, or of the gateway's response if a payment
//     was opened.
//   - P6 A client that reconnects receives the newest state of every order that changed meanwhile, or a request to read
//     all orders.
//   - P7 XINFO GROUPS reports correct numbers.
//   - P8 Money is never lost: a payment after the end of an order revives it if a unit is free, else it is refunded, and
//     the buyer sees the outcome.
//
// # Invariants
//
// The comments name the invariants I1–I11 where the code keeps them:
//
//   - I1 An id has one row and one final state. Only order prune deletes the row, 92 days after its sale or later.
//   - I2 Free units in Redis ≤ free units in MySQL.
//   - I3 Stock, limit and hold change together, keyed by (order, hold).
//   - I4 done increases by the result of XACK, after COMMIT, event and deadline.
//   - I5 taken changes only with the rows that it counts.
//   - I6 Unknown is not failed.
//   - I7 Absent is not empty.
//   - I8 seq never decreases. Redis has every order that a node or a row has seen as accepted, and has one history.
//   - I9 The key lookup precedes every rejection of a holder.
//   - I10 Redis time decides.
//   - I11 Hints have an age limit.
//
// After the commit, the rows are the log (effects.go):
//
//   - F1 The database stamps each new state.
//   - F2 A state is published shortly after its stamp, else it is stamped again first.
//   - F3 Until a state is published, its entry or its row records that it is unpublished.
//   - F4 Messages have a sequence without gaps.
//   - F5 A node stores the time up to which it has received all messages, and reads rows for the rest.
//   - F6 A cursor is such a time.
package app
