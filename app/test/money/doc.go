// Package money tests that no fen is lost (P8). The payment flows run on a real Redis, a real MariaDB and the simulated
// gateway, whose ledger is the reference. At the end every fen that the gateway holds belongs to exactly one paid
// order, all other money is refunded, no order is paid without money, and the stock equation holds (P1).
//
//   - death_test.go: the process dies after each single call
//   - model_test.go: random sequences with faults, deaths and recoveries of Redis
//   - rebuild_test.go, revive_test.go: an order changes during a recovery of Redis
//   - counters_test.go: corrupted counters in Redis
//   - closing_test.go: ten thousand equal deadlines with opened payments; the gateway works, is silent or unreachable
//
// A process dies by faults at its ports (package faults): after its last call, all calls fail without an effect
// (dying_process_test.go). This covers every point between two steps. Package app/test/crash kills real processes at
// named points.
package money
