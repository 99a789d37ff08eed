package alipay_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"stampede/app/alipay/sim"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// newListedSetup returns a gateway with the paid orders 1, 2 and 3, the unpaid order 4, a refund of a part of order 2,
// and a trade of another shop. All changes are in the lists.
func newListedSetup(t *testing.T) *testSetup {
	t.Helper()
	c := newTestSetup(t, nil)
	for order := shop.ID(1); order <= 4; order++ {
		c.pay(t, order, payment.ViaPage)
		if order < 4 {
			kit.Must(t, c.sim.Pay(order.String()))
		}
	}
	kit.Must(t, c.Refund(t.Context(), payment.RefundRequest{Order: 2, Request: "R2", AmountFen: 301, Reason: "scratched"}))
	c.sim.AddForeign("TX-77", "two cups", 500)
	c.ahead.Store(int64(listDelay))
	return c
}

func (s *testSetup) now() shop.Millis {
	return shop.MillisOf(time.Now().Add(time.Duration(s.ahead.Load())))
}

// C4: the list contains every paid trade with its mark. A trade of another shop has none.
func TestSoldTradesAreListedWithTheirMarks(t *testing.T) {
	t.Parallel()
	c := newListedSetup(t)
	trades, more, err := c.SoldTrades(t.Context(), c.now().Add(-time.Hour), c.now(), 1)
	if err != nil || more || len(trades) != 4 {
		t.Fatalf("got %d trades, more %v, %v, want 4", len(trades), more, err)
	}
	for i, got := range trades[:3] {
		order := shop.ID(i + 1)
		paid := c.query(t, order)
		want := payment.ListedTrade{
			Order: order, No: paid.No, Mark: markOf(order), AmountFen: 19801, CreatedAt: got.CreatedAt,
			PaidAt: paid.PaidAt,
		}
		if order == 2 {
			want.RefundedFen = 301
		}
		if got != want || got.CreatedAt == 0 {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if foreign := trades[3]; foreign.Order != 0 || foreign.Mark != (payment.Mark{}) || foreign.AmountFen != 500 {
		t.Errorf("the trade of another shop: got %+v, want no order and no mark", foreign)
	}
}

// C4: refunds are listed by their booking, under their request numbers.
func TestRefundsAreListedByBooking(t *testing.T) {
	t.Parallel()
	c := newListedSetup(t)
	refunds, more, err := c.RefundLog(t.Context(), c.now().Add(-time.Hour), c.now(), 1)
	if err != nil || more || len(refunds) != 1 {
		t.Fatalf("got %+v, more %v, %v, want one refund", refunds, more, err)
	}
	want := payment.ListedRefund{Order: 2, No: c.query(t, 2).No, Request: "R2", AmountFen: 301, At: refunds[0].At}
	if refunds[0] != want || want.At == 0 {
		t.Errorf("got %+v, want %+v", refunds[0], want)
	}
}

// A list has pages, and a change appears in it after some minutes.
func TestListsHavePagesAndADelay(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, nil)
	for n := range 1001 {
		c.sim.AddForeign("TX-"+strconv.Itoa(n), "", 1)
	}
	from := c.now().Add(-time.Hour)
	if trades, more, err := c.SoldTrades(t.Context(), from, c.now(), 1); err != nil || more || len(trades) > 0 {
		t.Errorf("before the delay: got %d trades, more %v, %v, want none", len(trades), more, err)
	}
	c.ahead.Store(int64(listDelay))
	for page, want := range map[int]int{1: 1000, 2: 1} {
		trades, more, err := c.SoldTrades(t.Context(), from, c.now(), page)
		if err != nil || more != (page == 1) || len(trades) != want {
			t.Errorf("page %d: got %d trades, more %v, %v, want %d", page, len(trades), more, err, want)
		}
	}
}

// An account without the permission gets an error of its own, also for a bill. A range of more than 31 days is refused.
func TestListsReportMissingPermission(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, nil)
	now := c.now()
	_, _, err := c.SoldTrades(t.Context(), now.Add(-32*24*time.Hour), now, 1)
	if !errors.Is(err, payment.ErrGatewayRefused) {
		t.Errorf("32 days: got %v, want a refusal", err)
	}
	c.inject(t, sim.Fault{Kind: sim.NotPermitted})
	_, _, sold := c.SoldTrades(t.Context(), now.Add(-time.Hour), now, 1)
	_, _, log := c.RefundLog(t.Context(), now.Add(-time.Hour), now, 1)
	_, _, bill := c.Bill(t.Context(), "2026-01-01")
	for name, err := range map[string]error{"sold trades": sold, "refunds": log, "bill": bill} {
		if !errors.Is(err, payment.ErrNotPermitted) {
			t.Errorf("%s: got %v, want ErrNotPermitted", name, err)
		}
	}
}

// C4: the bill of a day has the same trades and refunds as the lists. It exists from the next morning on.
func TestBillHasTheTradesOfTheDay(t *testing.T) {
	t.Parallel()
	c := newListedSetup(t)
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	kit.Must(t, err)
	day := c.query(t, 1).PaidAt.Time().In(shanghai).Format(time.DateOnly)
	if _, _, err := c.Bill(t.Context(), day); !errors.Is(err, payment.ErrNoBill) {
		t.Errorf("on the day: got %v, want ErrNoBill", err)
	}
	c.ahead.Store(int64(34 * time.Hour))
	trades, refunds, err := c.Bill(t.Context(), day)
	if err != nil || len(trades) != 4 || len(refunds) != 1 {
		t.Fatalf("got %d trades and %d refunds, %v, want 4 and 1", len(trades), len(refunds), err)
	}
	listed, _, err := c.SoldTrades(t.Context(), c.now().Add(-48*time.Hour), c.now(), 1)
	kit.Must(t, err)
	for i, want := range listed {
		want.RefundedFen = 0 // the bill lists refunds separately
		if trades[i] != want {
			t.Errorf("got %+v, want %+v", trades[i], want)
		}
	}
	log, _, err := c.RefundLog(t.Context(), c.now().Add(-48*time.Hour), c.now(), 1)
	if kit.Must(t, err); refunds[0] != log[0] {
		t.Errorf("got %+v, want %+v", refunds[0], log[0])
	}
}
