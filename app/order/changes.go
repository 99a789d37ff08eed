package order

import (
	"context"

	"stampede/app/shop"
)

// ChangedOrders is where a node reads what it may not have heard of (F5, F6).
type ChangedOrders interface {
	Clock(ctx context.Context) (shop.Instant, error)
	Changed(ctx context.Context, queries []shop.ChangesQuery, most int) ([]shop.Changes, shop.Instant, error)
}

// Notifier tells the nodes that hold the sockets what has changed.
type Notifier interface {
	Publish(ctx context.Context, partition int, asOf shop.Millis, rows []*shop.Order) error
}
