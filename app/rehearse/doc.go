// Package rehearse plays a sale before it opens: simulated shoppers on the deployment's own socket buy in a copy of it,
// and what they met decides between go and no-go. What a rehearsal is to the shop stands in app/rehearsal.go.
//
//	Begin ─→ connect, hello, watch ─→ open ─→ press, hear, cancel, press again ─→ closed ─→ orders end ─→ verdict
//	  └────────────── on each way out: sockets close, End, Clean ──────────────────────────────────────┘
//
// Each shopper is a goroutine with a socket of wsclient, and does what a page does: it waits for the opening, presses
// within the first moments, repeats with the same key what is unknown, waits for a unit when there is none, and gives
// some orders up. Nobody pays, so units come back after app.RehearsalPayWindow and are sold again.
package rehearse
