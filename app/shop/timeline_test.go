package shop

import (
	"slices"
	"testing"
)

func TestTimelineOfOrdersWithoutAPast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order Order
		want  []Step
	}{
		{Order{State: Reserved}, nil},
		{Order{State: Pending, Rev: 1, InsertedAt: 2}, []Step{{Pending, 2}}},
		{Order{State: Pending, Rev: 1}, []Step{{Pending, 0}}},
		{Order{State: Refused, Rev: 1, InsertedAt: 2}, []Step{{Refused, 2}}},
		{Order{State: Cancelled, Rev: 1, CancelledAt: 3}, []Step{{Cancelled, 3}}}, // a reservation
		{Order{State: Cancelled, Rev: 2, InsertedAt: 2, CancelledAt: 3}, []Step{{Pending, 2}, {Cancelled, 3}}},
		{Order{State: Expired, Rev: 2, InsertedAt: 2, CancelledAt: 3, PaidAt: 4}, []Step{{Pending, 2}, {Expired, 3}}},
	} {
		c.order.CreatedAt = 1
		want := append([]Step{{Reserved, 1}}, c.want...)
		if got := Timeline(&c.order, Trail{}); !slices.Equal(got, want) {
			t.Errorf("%+v: got the timeline %v, want %v", c.order, got, want)
		}
	}
}
