package order

import (
	"time"

	"stampede/app/shop"
)

// Gate answers buys, grouping those that wait for the same sale into one Lua call.
type Gate interface {
	// Reserve calls then exactly once, at once or from another goroutine, with the answer, or an error when the outcome
	// is unknown (ErrTransient: repeat with the same key) or the buy was not sent by until. then must not block: other
	// callers wait behind it.
	Reserve(b shop.Buy, until time.Time, then func(shop.GateAnswer, error))
}
