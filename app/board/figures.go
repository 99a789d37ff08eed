package board

import (
	"context"

	"stampede/app/shop"
)

// BoardStore keeps what the nodes say for the live board. All of it is a hint with an age limit (I11): it has a TTL,
// and nothing depends on it.
type BoardStore interface {
	SayFigures(ctx context.Context, f NodeFigures, turn shop.Millis) (first bool, err error)
	Figures(ctx context.Context) ([]NodeFigures, error)
	AddPoint(ctx context.Context, p BoardPoint, gone []int) error
	Points(ctx context.Context, last int) ([]BoardPoint, error)
	PartitionFigures(ctx context.Context) ([]PartitionFigures, error)
}

// BoardAudience is everyone who looks at the live board on this node.
type BoardAudience interface {
	// BoardWatched reports whether anybody does.
	BoardWatched() bool
	// ShowBoard shows it to them; it never waits for a slow client.
	ShowBoard(b *Board)
}
