// Package wsclient is a client of the socket protocol, version 1 (realtime/PROTOCOL.md). Simulated shoppers, the load
// generator and tests use it. The golden frames in realtime/testdata/protocol define the contract for client and
// server.
//
// # States of a connection
//
//	Dial ──▶ open ── Hello ──▶ greeted ── Watch, Buy, Pay, … ──▶ replies, one for each op
//	          │  token, cursor   │   events arrive in between and go to the callback
//	          └──────────────────┴── Close, bye, silence, lost ──▶ done: Err returns the reason
//	                Dial, Hello with the last Cursor ◀─────────────┘
//
// One goroutine reads. It passes each reply to the call that waits for it, and all other frames to the callback of the
// Dialer, in order. Any goroutine may send. Only pongs are sent without a call.
//
// A call ends with its reply or with the connection. A rejection is an *shop.Error with the protocol's code. After any
// other error the outcome is unknown (I6): the op may have been carried out. A buy is then repeated with the same key.
//
// The Cursor is an opaque text and outlives the connection. The next Hello with it returns the missed events in
// Welcome.Missed. After Welcome.Reset, Orders must be read again.
package wsclient
