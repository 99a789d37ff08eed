package shop

import (
	"testing"
	"time"
)

// TestPaymentsOfPendingOrderEndAtOneInstant: the countdowns of all clients end at this instant, which is never after
// the end of payments at the gateway.
func TestPaymentsOfPendingOrderEndAtOneInstant(t *testing.T) {
	t.Parallel()
	const reserved Millis = 1_795_222_798_500
	for _, c := range []struct {
		state     OrderState
		timeToPay time.Duration
		late      time.Duration // between the reservation and the row
		want      Millis
	}{
		{Pending, 5 * time.Minute, 0, 1_795_223_088_000}, // ten seconds before the deadline, in whole seconds
		{Pending, 30 * time.Second, 0, 1_795_222_823_000},
		{Pending, 30 * time.Second, 20 * time.Second, 1_795_222_840_000},
		{Paid, 5 * time.Minute, 0, 0},
		{Expired, 5 * time.Minute, 0, 0},
	} {
		o := Order{State: c.state, CreatedAt: reserved, PayBy: reserved.Add(c.late + c.timeToPay)}
		got := o.PaymentEnds()
		if got != c.want {
			t.Errorf("a %s order with %v to pay, %v late: got the end of payments %d, want %d", c.state, c.timeToPay, c.late,
				got, c.want)
		}
		if limit := o.PayBy.Add(-PayMargin(c.timeToPay)); got > limit {
			t.Errorf("an order with %v to pay, %v late: got the end of payments %d, after the gateway's limit %d", c.timeToPay,
				c.late, got, limit)
		}
	}
}
