package shop

import (
	"testing"
	"time"
)

// TestPaymentsOfPendingOrderEndAtOneInstant: the countdowns of all clients end at this instant, which is never after the
// end of payments at the gateway.
func TestPendingOrderHasOnePayUntil(t *testing.T) {
	t.Parallel()
	const reserved Millis = 1_795_222_798_500
	for _, c := range []struct {
		state     OrderState
		timeToPay time.Duration
		want      Millis
	}{
		{Pending, 5 * time.Minute, 1_795_223_088_000}, // ten seconds before the deadline, in whole seconds
		{Pending, 30 * time.Second, 1_795_222_823_000},
		{Paid, 5 * time.Minute, 0},
		{Expired, 5 * time.Minute, 0},
	} {
		o := Order{State: c.state, CreatedAt: reserved, PayBy: reserved.Add(c.timeToPay)}
		if got := o.PaymentEnds(); got != c.want {
			t.Errorf("a %s order with %v to pay can be paid until %d, want %d", c.state, c.timeToPay, got, c.want)
		}
	}
}
