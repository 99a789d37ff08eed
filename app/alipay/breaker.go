package alipay

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"stampede/app/shop"
)

const (
	// openAfter is the number of consecutive faults that open the breaker. A single lost reply is normal, so it
	// is greater than 1.
	openAfter = 5
	// retryPause is the pause before one call tries the gateway again. It is short because reconciliation must find a
	// missed payment within a minute.
	retryPause = 2 * time.Second
)

// newBreaker returns a breaker that protects callers from an unavailable gateway. After openAfter consecutive faults,
// calls fail immediately for retryPause; then one call is sent as a test. A signed rejection counts as a success, and a
// timeout counts as a fault. A cancelled call does not count.
func newBreaker() *gobreaker.CircuitBreaker[struct{}] {
	return gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: "alipay", MaxRequests: 1, Timeout: retryPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= openAfter },
		IsSuccessful: func(err error) bool { return !errors.Is(err, shop.ErrTransient) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
	})
}

// rejected reports whether the breaker rejected the call without sending it.
func rejected(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}
