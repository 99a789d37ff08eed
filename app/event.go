package app

import "context"

// OrderEvent tells a buyer of the state that an order has reached. The order's id and rev identify it: a repeat is
// recognised and ignored. The order must not change any more.
type OrderEvent struct {
	Order *Order
	First bool // whoever tells has just made this state and tells of it for the first time: nothing need be looked for
}

// Notifier writes personal events into the buyers' logs and hints the nodes that hold their sockets.
// Telling the same (order, rev) again changes nothing. An error is a transient fault: tell again.
type Notifier interface {
	Tell(ctx context.Context, events []OrderEvent) error
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
