package catalog

import (
	"stampede/app/shop"
)

// Audience is everyone who watches on this node.
type Audience interface {
	// Watched lists the sales that at least one client of this node watches, without repeats.
	Watched() []shop.ID
	// WatchedBy counts this node's watchers per sale.
	WatchedBy() map[shop.ID]int64
	// Tick offers the newest counters of the watched sales; it never waits for a slow client.
	Tick(now shop.Millis, counters []shop.Counters)
	// SlotChanged tells everyone of a slot that has changed its phase or has appeared.
	SlotChanged(s shop.Slot)
	// SaleChanged tells everyone who watches the sale or its slot.
	SaleChanged(v shop.SaleView)
}
