// Package realtime holds the sockets: connections, watch sets and the events that clients receive.
//
//   - tick, slot, sale and notice are hints with a newest value. They are encoded once per watch set, not per client; a
//     client that has not taken the last one gets the newest instead. See Hub.Tick.
//   - order is the newest state of a row. A PubSub message brings it to the nodes; after a possible loss rows are read.
//
// The life of a change: its transaction stamps the row by the database's clock; after the COMMIT one message per batch
// and partition goes to all nodes (package streams). A node subscribes once to all partitions (listener.go) and queues
// each change for its user's connections (changes.go, personal.go). chains.go detects missing messages, by the next one
// or by the ends of the chains (follow.go); then the rows of all connected users are read (rows.go). This proves an
// instant of the database's clock: the cursor (cursor.go) of events. A hello with a cursor receives the rows stamped
// since then, or up to a minute before (replay.go). Clients know a repeat by its rev.
//
// The life of a connection: Handler upgrades it; serve reads its frames in order and returns after the last writer.
// hello joins the hub before it reads rows, so that nothing falls between (session.go); rows that the database cannot
// give now follow as events. Only the client's outbox writes, one goroutine at a time (outbox.go). Nothing waits for a
// slow client: its boxes are bounded, and when they overflow it is closed (closing.go).
//
// The contract with client authors is PROTOCOL.md; testdata/protocol holds one golden frame of every kind.
package realtime
