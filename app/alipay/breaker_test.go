package alipay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"stampede/app/payment"
)

// P8: consecutive faults open the breaker. After the pause one call tests whether the gateway is available again.
// Signed rejections and cancelled calls do not count as faults.
func TestBreakerOpensAfterConsecutiveFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker()
		execute := func(result error) error {
			_, err := b.Execute(func() (struct{}, error) { return struct{}{}, result })
			return err
		}
		fault := errUnknown("test", context.DeadlineExceeded)
		for range openAfter - 1 {
			if rejected(execute(fault)) {
				t.Fatal("the breaker is open before openAfter faults, want closed")
			}
		}
		_ = execute(errUnknown("test", context.Canceled))
		if b.State() != gobreaker.StateClosed {
			t.Fatal("the breaker is open after a cancelled call, want closed")
		}
		_ = execute(fault)
		if !rejected(execute(nil)) {
			t.Fatal("the breaker is closed, want open")
		}
		time.Sleep(retryPause + 1)
		_, err := b.Execute(func() (struct{}, error) {
			if !rejected(execute(nil)) {
				t.Error("a second call during the test call was sent, want it rejected")
			}
			return struct{}{}, fault
		})
		if rejected(err) || !rejected(execute(nil)) {
			t.Fatal("the breaker is closed after a failed test call, want open")
		}
		time.Sleep(retryPause + 1)
		// A cancelled test call does not count: the next call is the test call. Its signed rejection closes the
		// breaker.
		_ = execute(errUnknown("test", context.Canceled))
		if rejected(execute(&businessError{})) || rejected(execute(payment.ErrGatewayRefused)) {
			t.Fatal("the breaker is open after a signed rejection, want closed")
		}
	})
}
