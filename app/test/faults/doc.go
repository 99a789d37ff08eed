// Package faults makes what the flows call fail: it stands between them and their ports, and between a Redis client
// and the server. A [Fault] sees each call and lets it happen or not; what it returns is what the caller hears.
//
//   - inventory.go, orders.go, money.go, acts.go, archive.go: the ports, each with the methods at which something may be
//     made to happen
//   - scripts.go: the scripts that a Redis client runs, for what has no port: the grouped call of the gate, the drop of
//     a deadline
//   - points.go: the places at which package app/test/crash kills a process, each a call of those and a flow
//   - arm.go: a fault that strikes at one of them
//
// Package app/test/money has processes die after their n-th call, whatever it is. The program knows nothing of this:
// app/server puts it in between when it is built for the crash suite (tag crashpoints), and only there.
package faults
