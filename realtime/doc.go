// Package realtime keeps the sockets: who is connected, what they watch, and what they are told.
//
// Two kinds of news reach a client, and they are treated differently on purpose:
//
//   - What everybody sees (tick, slot, sale, notice) is a hint with a newest value. It is encoded once per watch
//     set, not per client; a client that has not taken the last one gets the newest instead. See Hub.Tick.
//   - What one buyer must hear (order) is kept in that user's log in Redis and read in order from the client's
//     cursor. PubSub only says that there is something to read. See Log and personal.go.
//
// The life of a connection: Handler upgrades it, serve reads its frames one after the other until it ends, and
// returns only after the last writer has. Nobody writes but the client's outbox, one goroutine at a time, started
// when there is something to write and gone when there is not (outbox.go). Nothing ever waits for a slow
// client: its boxes are bounded, and when they overflow it is told to go (closing.go).
//
// The contract with client authors is PROTOCOL.md; testdata/protocol holds one golden frame of every kind.
package realtime
