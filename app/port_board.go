package app

import (
	"context"
)

// BoardStore keeps what the nodes say for the live board. All of it is a hint with an age limit (I11): it has a TTL,
// and nothing depends on it.
type BoardStore interface {
	// SayFigures keeps what this node says now, in the place of what it has said before. With a turn it also reports
	// whether this node is the first one that wants it: that one makes the point of the history.
	SayFigures(ctx context.Context, f NodeFigures, turn Millis) (first bool, err error)
	// Figures answers what all nodes have said, also those that have gone meanwhile.
	Figures(ctx context.Context) ([]NodeFigures, error)
	// AddPoint adds a point to the history and lets go of those that are too old, and of nodes that have gone.
	AddPoint(ctx context.Context, p BoardPoint, gone []int) error
	// Points answers the last points of the history, the oldest first.
	Points(ctx context.Context, last int) ([]BoardPoint, error)
	// PartitionFigures reads the state of all streams, and tries a write in each partition.
	PartitionFigures(ctx context.Context) ([]PartitionFigures, error)
}

// BoardAudience is everyone who looks at the live board on this node.
type BoardAudience interface {
	// BoardWatched reports whether anybody does.
	BoardWatched() bool
	// ShowBoard shows it to them; it never waits for a slow client.
	ShowBoard(b *Board)
}

// Audience is everyone who watches on this node.
type Audience interface {
	// Watched lists the sales that at least one client of this node watches, without repeats.
	Watched() []ID
	// WatchedBy counts this node's watchers per sale.
	WatchedBy() map[ID]int64
	// Tick offers the newest counters of the watched sales; it never waits for a slow client.
	Tick(now Millis, counters []Counters)
	// SlotChanged tells everyone of a slot that has changed its phase or has appeared.
	SlotChanged(s Slot)
	// SaleChanged tells everyone who watches the sale or its slot.
	SaleChanged(v SaleView)
}
