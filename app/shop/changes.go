package shop

import (
	"context"
	"time"
)

// Instant is an instant of the database's clock, in one history of the database: after a failover to a server that may
// lack commits, instants of the old one say nothing about the new one.
type Instant struct {
	At      Millis
	History string // 8 hex digits, of the server that answers
}

// ChainEnd is how far the messages of a partition have come, as Redis says.
type ChainEnd struct {
	Told  int64 // number of the last message; 0: none yet, or Redis knows nothing of the partition
	Epoch int64 // of the partition; 0: Redis knows nothing of it
	Away  bool  // the server that holds the partition does not answer: nobody knows the end
}

// ChangesQuery asks for the orders of a user whose newest state was stamped at an instant or later.
type ChangesQuery struct {
	User  ID
	Since Millis // the database's clock
}

// Changes are the newest states of a user's orders that changed since an instant, the oldest change first.
type Changes struct {
	Orders []Order
	More   bool // there are more than were asked for; Orders is not complete
}

// Chains tell how far the messages of all partitions have come.
type Chains interface {
	// ChainEnds reads the ends of all partitions, in their order. It fails when none answers; a missing one is marked.
	ChainEnds(ctx context.Context) ([]ChainEnd, error)
}

// PublishWithin is how old, by Redis time, the beginning of a transaction may be whose rows are published.
const PublishWithin = 15 * time.Second
