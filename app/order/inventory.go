package order

import (
	"time"

	"stampede/app/shop"
)

// Gate answers buys, grouping those that wait for the same sale into one Lua call.
type Gate interface {
	Reserve(b shop.Buy, until time.Time, then func(shop.GateAnswer, error))
}
