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
// One goroutine reads. It gives each answer to the call that waits for it, and everything else to Heard, in order. Any
// goroutine may send. The client by itself sends only pongs.
//
// A call ends with its answer or with the connection. A rejection is an *shop.Error with the protocol's code. After any
// other error the outcome is unknown (I6): the op may have been carried out, and a buy is repeated with the same key.
//
// The Cursor is an opaque text and outlives the connection. The next Hello with it returns what was missed in
// Welcome.Missed; after Welcome.Reset, Orders must be read again.
package wsclient
