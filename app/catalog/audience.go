package catalog

import (
	"stampede/app/shop"
)

// Audience is the set of clients that watch sales on this node.
type Audience interface {
	// Watched lists the sales that at least one client of this node watches, without duplicates.
	Watched() []shop.ID
	// WatchedBy counts this node's watchers per sale.
	WatchedBy() map[shop.ID]int64
	// Tick sends the newest counters of the watched sales. It never waits for a slow client.
	Tick(now shop.Millis, counters []shop.Counters)
	// SlotChanged notifies all clients of a slot that has changed its phase or has appeared.
	SlotChanged(s shop.Slot)
	// SaleChanged notifies all clients that watch the sale or its slot.
	SaleChanged(v shop.SaleView)
}
