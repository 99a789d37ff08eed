package alipay

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"stampede/app/shop"
)

const (
	// openAfter is how many consecutive faults open the breaker: a single lost reply is normal.
	openAfter = 5
	// retryPause is the pause before one call tries the gateway again. It is short because reconciliation must find a
	// missed payment within a minute.
	retryPause = 2 * time.Second
)

// newBreaker protects callers from an unavailable gateway: after openAfter consecutive faults, calls fail at once for
// retryPause, then one call may try. A signed rejection counts as a success, a timeout as a fault, and a cancelled call
// as neither.
func newBreaker() *gobreaker.CircuitBreaker[struct{}] {
	return gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: "alipay", MaxRequests: 1, Timeout: retryPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= openAfter },
		IsSuccessful: func(err error) bool { return !errors.Is(err, shop.ErrTransient) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
	})
}

// rejected reports whether the breaker rejected the call without trying it.
func rejected(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}
