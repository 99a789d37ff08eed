package board

import (
	"context"
	"time"

	"stampede/app/shop"
)

// Audience serves the viewers of the live board on this node.
type Audience interface {
	// BoardWatched reports whether there are viewers.
	BoardWatched() bool
	// ShowBoard sends the board to the viewers; it never waits for a slow client.
	ShowBoard(b *Board)
}

// FigureStore stores the figures of all nodes, see streams.Figures. Errors are ErrTransient.
type FigureStore interface {
	PublishFigures(ctx context.Context, f NodeFigures, duePoint shop.Millis) (first bool, err error)
	RoundTrip(ctx context.Context) (time.Duration, error)
	NodeFigures(ctx context.Context) ([]NodeFigures, error)
	AddPoint(ctx context.Context, p Point, gone []int) error
	Points(ctx context.Context, last int) ([]Point, error)
	PartitionFigures(ctx context.Context) ([]PartitionFigures, error)
	PublishSaleFigures(ctx context.Context, all []SaleFigures) error
}
