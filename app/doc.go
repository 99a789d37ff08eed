// Package app is Stampede in one place: what the words mean, which promises hold, and the flows that keep them.
// It imports the standard library only; Redis, MySQL and sockets stand behind the small ports beside the flows that use
// them, and so do the faults of the tests.
//
// # The way of an order
//
//	shopper ── buy ──▶ Checkout ──▶ Gate ──▶ one Lua step in Redis ──▶ stream entry      buy_checkout.go
//	   ▲                                  stock−, limit, hold, ticket      │
//	   │ reserved: order id, ticket, place                                 ▼
//	   │                                                  Fulfiller: row in MySQL    buy_fulfil.go
//	   │ order: pending, pay_by ◀── message after COMMIT ◀────────┘   │            effects.go
//	   │                                                              ▼ deadline
//	   │ order: expired ◀── event ◀── units back ◀── COMMIT ◀── Expirer              buy_expire.go
//	   │                                        the gateway first, ▲ if a payment was opened   pay_closer.go, pay_close.go
//	   ├── pay ──▶ Cashier ──▶ trade noted in the row ──▶ where to pay at the gateway      pay_start.go
//	   │ order: paid ◀── event ◀── held→sold ◀── COMMIT ◀── Settle ◀── the gateway's word      pay_settle.go
//
// # The flows
//
//   - flow 0, show_warm.go: a sale's stock goes into Redis before its slot opens
//   - flow 1, buy_checkout.go: a buy becomes a reservation
//   - before it, where a sale asks for that: pass_desk.go: who gets a pass, for which task; pass.go: what a pass is
//   - flow 2, buy_fulfil.go: stream entries become rows, buyers hear of it
//   - flow 3, pay_start.go: the buyer pays; pay_settle.go: the gateway's word; pay_late.go: money that came late;
//     pay_poll.go: what the gateway did not say; refund_request.go, refund_send.go: money back; outbox.go: what the
//     shop's back office hears
//   - after a sale: after_ship.go, after_ship_bulk.go: parcels, and their receipt; after_finish.go: what follows them;
//     after_search.go: orders, people and payments; after_report.go: what became of a sale; after_leftovers.go: what
//     could not be done; archive.go: moves old orders, removes personal data; archive_drop.go: deletes
//     archived months
//   - flow 4, buy_expire.go: unpaid orders end, their units are sold again; cancel; pay_closer.go, pay_close.go: at the
//     gateway first, if a payment was opened
//   - flow 5, repair_reconcile.go: what the quick ways lost; repair_recount.go: counts that no hold accounts for;
//     repair_deadletter.go: dead letters; repair_audit.go: the proof of the stock equation; package recovery: what a
//     store has lost
//   - hidden.go: sales that only guests bound to them can see
//   - what people see: show_storefront.go (snapshots), show_browse.go (pages), show_ticker.go (moving numbers),
//     show_phases.go (edges of slots), buy_soldout.go (turning people away without Redis), show_catalogue.go (what is
//     offered)
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
