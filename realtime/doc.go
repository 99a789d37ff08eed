// Package realtime serves the WebSocket connections: clients, watch sets and the events that clients receive.
//
//   - `tick`, `slot`, `sale` and `notice` are hints: a client needs only the newest hint of a subject. A newer hint
//     replaces a queued one. A tick is encoded once per watch set, not per client. See Hub.Tick.
//   - `order` carries the newest state of a row. Redis PubSub delivers it to the nodes. After a possible loss, the node
//     reads the rows.
//
// Path of a change:
//
//  1. Its transaction sets the row's timestamp from the database's clock.
//  2. After the COMMIT, one message per batch and partition is published to all nodes (package streams).
//  3. Each node has one subscription for all partitions (listener.go). It queues each change for the connections of its
//     user (changes.go, personal.go).
//  4. sequences.go detects missing messages. The node then reads the rows of all connected users (follow.go, rows.go).
//  5. An instant of the database's clock is proven when all changes up to it are queued for the connections. Steps 3
//     and 4 prove later and later instants. Events carry the newest proven instant as their cursor.
//  6. A hello with a cursor receives the rows changed since then, with an overlap of one minute (replay.go). Clients
//     recognise repeats by `rev`.
//
// Path of a connection: socket.go upgrades it and reads its frames in order. The op `hello` registers the connection
// and then reads rows, so that no change is missed in between (session.go). Rows that cannot be read at that time
// follow as events. Only the outbox of the client writes to the socket, with one goroutine at a time (outbox.go). A
// slow client delays no other client: when its outbox overflows, the connection is closed (closing.go).
//
// PROTOCOL.md is the contract with client authors. testdata/protocol has a golden frame of every kind.
package realtime
