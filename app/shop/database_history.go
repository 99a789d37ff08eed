package shop

import (
	"time"
)

// DatabaseHistory identifies the current database server and the progress of its data. The database stores it in one
// row, and each partition in Redis stores a copy. The row and a copy differ if the database has lost commits (see
// app/recovery).
type DatabaseHistory struct {
	Server          string // the current server, 8 hex digits
	RecoveredServer string // the server on which the last recovery ran, from the row
	Generation      int64  // incremented by each recovery of the database
	Beat            int64  // incremented every two seconds while nodes run
	// Gap: no beat was raised for more than a minute, and the last node was not stopped as planned. Commits may have
	// been lost meanwhile: a backup of this server may have been restored under the same name.
	Gap bool
	// Lossless: no acknowledged commit is lost when this server fails. Either semi-synchronous replication (AFTER_SYNC)
	// is active, or the server is a member of a Galera cluster.
	Lossless bool
	// Single: no replica is connected, so no failover can lose commits.
	Single bool
	// Fallback: semi-synchronous replication is configured but not active, so a failover may lose commits.
	Fallback bool
	// UnfitReason is the reason why no recovery may run on the server now: it is read-only or still applies a relay
	// log. "": a recovery may run.
	UnfitReason string
}

// PaymentWatch schedules gateway queries for orders whose payment may have been opened by a lost commit. The queries
// are distributed between Now and Now + Spread. WatchPayments extends Spread to at least PerOrder per order. The
// gateway accepted payments until Margin before the deadline of each order.
type PaymentWatch struct {
	Now                      Millis
	Margin, Spread, PerOrder time.Duration
}

// RecordedHistory is the copy of a DatabaseHistory that a partition keeps in Redis. Server "": no copy is recorded.
type RecordedHistory struct {
	Server     string
	Generation int64
	Beat       int64
	// ClaimServer and ClaimGeneration belong to a recovery that has not ended.
	ClaimServer     string
	ClaimGeneration int64
	Replaced        []string // servers that were replaced, the newest last
}
