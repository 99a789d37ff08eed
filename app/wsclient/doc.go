// Package wsclient is a client of the socket protocol, version 1 (realtime/PROTOCOL.md): what the simulated shoppers,
// the load generator and the tests say to a server, and how they read what it says. The golden frames in
// realtime/testdata/protocol hold both ends to one contract.
//
// # The life of a connection
//
//	Dial ──▶ open ── Hello ──▶ greeted ── Watch, Buy, Pay, … ──▶ answered, one after the other
//	           │  token, cursor   │   events come in between and go to Dialer.Heard
//	           └──────────────────┴── Close, bye, silence, lost ──▶ done: Err says why
//	                 Dial, Hello with the Cursor of the one before ◀──┘
//
// One goroutine reads. It gives each answer to the call that waits for it, and everything else to Heard, in the order
// in which it came. Any goroutine may send; nothing is sent behind its back but pongs.
//
// A call ends with its answer or with the connection; there is no giving up a single op, because those behind it would
// not come sooner. What the server refuses is an *app.Error with the protocol's code. Every other error means that
// nothing is known (I6): the op may have been carried out, and a buy is repeated with the same key.
//
// The Cursor is an opaque text and outlives the connection: whoever says it in the next Hello learns what happened
// meanwhile from Welcome.Missed, or from Welcome.Reset that Orders must be read anew.
package wsclient
