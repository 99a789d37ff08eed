// Package realtime holds the sockets: connections, watch sets and the events that clients receive.
//
//   - tick, slot, sale and notice are hints with a newest value. They are encoded once per watch set, not per client; a
//     client that has not taken the last one gets the newest instead. See Hub.Tick.
//   - order is the newest state of a row. A PubSub message brings it to the nodes; after a possible loss rows are read.
//
// The life of a change: its transaction stamps the row by the database's clock; after the COMMIT one message per batch
// and partition goes to all nodes (package streams). A node subscribes once to all partitions (listener.go) and queues
// each change for its user's connections (changes.go, personal.go). chains.go detects missing messages; then the rows
// of all connected users are read (follow.go, rows.go). This proves an instant of the database's clock, the cursor of
// events. A hello with a cursor receives the rows stamped since then, or up to a minute before (replay.go). Clients
// recognise repeats by their rev.
//
// The life of a connection: socket.go upgrades it and reads its frames in order. hello joins the hub before it reads
// rows, so that nothing is missed in between (session.go); rows that cannot be read now follow as events. Only the
// client's outbox writes, one goroutine at a time (outbox.go). A slow client delays nothing: when its outbox overflows,
// it is closed (closing.go).
//
// PROTOCOL.md is the contract with client authors; testdata/protocol has a golden frame of every kind.
package realtime
