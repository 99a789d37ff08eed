package board

import (
	"context"

	"stampede/app/shop"
)

// BoardStore keeps what the nodes say for the live board. All of it is a hint with an age limit (I11): it has a TTL,
// and nothing depends on it.
type BoardStore interface {
	// SayFigures keeps what this node says now, in the place of what it has said before. With a turn it also reports
	// whether this node is the first one that wants it: that one makes the point of the history.
	SayFigures(ctx context.Context, f NodeFigures, turn shop.Millis) (first bool, err error)
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
