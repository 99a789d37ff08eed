package shop

import (
	"time"
)

// DatabaseHistory identifies the server that answers and how far its data have come. The database keeps one row of it,
// and each partition in Redis a copy; they differ if the database has lost commits (app/recovery).
type DatabaseHistory struct {
	Server     string // the server that answers, 8 hex digits
	Of         string // the server for which the last recovery ran, as the row says
	Generation int64  // grows with each recovery of the database
	Beat       int64  // grows every two seconds while nodes run
	// Lossless: no acknowledged commit is lost when this server fails: semi-synchronous replication (AFTER_SYNC) is
	// active, or the server is a member of a Galera cluster.
	Lossless bool
	// Fallback: semi-synchronous replication is configured and not active, so a failover may lose commits.
	Fallback bool
	// Unfit is why no recovery may run on the server now: it is read-only, or still applies a relay log; "": none.
	Unfit string
}

// MoneyWatch says how the gateway is asked about orders whose payments may have been opened by commits that are lost:
// between Now and Now + Spread, of many orders one each Each, and that it took money until Margin before their
// deadlines.
type MoneyWatch struct {
	Now                  Millis
	Margin, Spread, Each time.Duration
}

// RecordedHistory is the copy that a partition keeps in Redis. Server "" means that none was recorded.
type RecordedHistory struct {
	Server     string
	Generation int64
	Beat       int64
	Lossless   bool
	// ClaimServer and ClaimGeneration are those of a recovery that has not ended.
	ClaimServer     string
	ClaimGeneration int64
	Replaced        []string // servers that were in use and replaced, the newest last
}
