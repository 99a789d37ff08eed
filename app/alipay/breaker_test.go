package alipay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"stampede/app/payment"
)

// P8: consecutive faults open the breaker, one call at a time checks whether the gateway is available again, and
// neither a signed rejection nor a cancelled call counts as a fault.
func TestBreakerOpensAfterConsecutiveFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker()
		execute := func(err error) error {
			_, err = b.Execute(func() (struct{}, error) { return struct{}{}, err })
			return err
		}
		fault := errUnknown("test", context.DeadlineExceeded)
		for range openAfter - 1 {
			if rejected(execute(fault)) {
				t.Fatal("the breaker opened too early")
			}
		}
		_ = execute(errUnknown("test", context.Canceled))
		if b.State() != gobreaker.StateClosed {
			t.Fatal("an abandoned call must not count")
		}
		_ = execute(fault)
		if !rejected(execute(nil)) {
			t.Fatal("the breaker is closed, want open")
		}
		time.Sleep(retryPause + 1)
		_, err := b.Execute(func() (struct{}, error) {
			if !rejected(execute(nil)) {
				t.Error("after the pause one call is allowed and the others are rejected")
			}
			return struct{}{}, fault
		})
		if rejected(err) || !rejected(execute(nil)) {
			t.Fatal("the breaker is closed after a failed attempt, want open")
		}
		time.Sleep(retryPause + 1)
		_ = execute(errUnknown("test", context.Canceled))
		if rejected(execute(&businessError{})) || rejected(execute(payment.ErrGatewayRefused)) {
			t.Fatal("the breaker is open after a refusal, want closed")
		}
	})
}
