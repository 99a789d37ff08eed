// Package money proves that no fen is lost (P8): the flows of money run on a real Redis, a real MariaDB and the
// simulated gateway, whose ledger is the truth. Afterwards every fen that the gateway holds belongs to exactly one paid
// order or was given back, no order is paid without money, and the stock equation holds (P1).
//
//   - death_test.go: the process dies after each single thing that it does
//   - model_test.go: random lives, with faults, deaths and rebuilds of Redis
//   - rebuild_test.go, revive_test.go: an order changes while Redis is made anew
//   - recount_test.go: counters in Redis that somebody has changed
//   - closing_test.go: ten thousand equal deadlines with opened payments, the gateway well, slow and gone
//
// A process dies here by its ports (package faults): from some call on, none has any effect or answers
// (mortal_test.go). That is every place between two steps at once; package app/test/crash kills real processes at the
// named ones.
package money
