// Package realtime keeps the sockets: who is connected, what they watch, and what they are told.
//
// Two kinds of news reach a client, and they are treated differently on purpose:
//
//   - What everybody sees (tick, slot, sale, notice) is a hint with a newest value. It is encoded once per watch
//     set, not per client; a client that has not taken the last one gets the newest instead. See Hub.Tick.
//   - What one buyer must hear (order) is the newest state of a row, and the rows are the only memory of it. A message
//     of PubSub brings it to the nodes; whoever may have missed one has the rows read.
//
// The life of a change: its transaction stamps the row by the database's clock; after the COMMIT one message per batch
// and partition tells all nodes (the publishing is in package streams). A node hears the messages of all partitions by
// one subscription (listener.go), and queues each change for its user's connections (changes.go, personal.go). Messages
// are numbered, and each names the one before it: chains.go notices what is missing, by the next message or by the ends
// of the chains, which are looked at every second (follow.go). Then the rows of all users who are connected here are
// read (rows.go). What a node has proven in this way is an instant of the database's clock, and that is the cursor
// (cursor.go) which events carry: a client that comes back with it is told, by its hello, the newest state of all rows
// that were stamped since then, or up to a minute before (replay.go). Clients know a repeat by its rev.
//
// The life of a connection: Handler upgrades it, serve reads its frames one after the other until it ends, and returns
// only after the last writer has. hello joins the hub first and reads rows then, so that nothing falls between
// (session.go); while the database is away its rows are owed, and come as events later. Nobody writes but the client's
// outbox, one goroutine at a time, started when there is something to write and gone when there is not (outbox.go).
// Nothing ever waits for a slow client: its boxes are bounded, and when they overflow it is told to go (closing.go).
//
// The contract with client authors is PROTOCOL.md; testdata/protocol holds one golden frame of every kind.
package realtime
