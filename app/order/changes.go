package order

import (
	"context"

	"stampede/app/shop"
)

// ChangedOrders is where a node reads what it may not have heard of (F5, F6).
type ChangedOrders interface {
	// Clock is the database's clock. ErrTransient: it does not answer.
	Clock(ctx context.Context) (shop.Instant, error)
	// Changed answers each query with at most so many orders, read after the instant. One statement serves many users.
	Changed(ctx context.Context, queries []shop.ChangesQuery, most int) ([]shop.Changes, shop.Instant, error)
}

// Notifier tells the nodes that hold the sockets what has changed.
type Notifier interface {
	// Publish tells of rows of one partition, in one message. asOf is Redis time, read before the transaction began
	// that stamped the rows. ErrTooLate: that is more than PublishWithin ago, nobody was told, and the rows have to be
	// stamped anew (F2). An error of any other kind is a transient fault: nobody knows, tell again.
	Publish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order) error
}
