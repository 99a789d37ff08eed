package alipay

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"stampede/app/shop"
)

const (
	// openAfter faults in a row count as "the gateway is away": a single lost answer is everyday.
	openAfter = 5
	// restFor is the pause before one call tries an absent gateway again; reconciliation must find a missed payment
	// within a minute.
	restFor = 2 * time.Second
)

// newBreaker protects callers from an absent gateway: after openAfter faults in a row calls fail at once for restFor,
// then one call may try. A signed no counts as an answer, a timeout as a fault, and an abandoned call as neither.
func newBreaker() *gobreaker.CircuitBreaker[struct{}] {
	return gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: "alipay", MaxRequests: 1, Timeout: restFor,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= openAfter },
		IsSuccessful: func(err error) bool { return !errors.Is(err, shop.ErrTransient) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
	})
}

// rejected reports whether the breaker made no call.
func rejected(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}
