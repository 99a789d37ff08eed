package demo

import (
	"context"
	"math/rand/v2"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

func newShopper() *shopper {
	return &shopper{
		random: rand.New(rand.NewPCG(1, 2)), pace: minMeanPause, rush: rushPeriod,
		sales: make(map[shop.ID]shop.SaleView), settled: make(map[shop.ID]bool),
	}
}

// TestShopperAcceptsEveryFrame: no frame of the protocol ends a visit, except the rejection of a token and frames that
// make a shopper send a request, which needs a connection.
func TestShopperAcceptsEveryFrame(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end() // the shopper has left, so it settles no order
	for name, text := range kit.GoldenFrames(t, "../../realtime/testdata/protocol", "server") {
		f, err := wsclient.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slot, ok := f.Event.(*wsclient.SlotEvent)
		if ok && slot.Phase == shop.Open || f.Error != nil && f.Error.Code == shop.Unauthorized {
			continue
		}
		if _, err := newShopper().onFrame(ended, f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTickUpdatesWatchedStock(t *testing.T) {
	t.Parallel()
	s := newShopper()
	for _, text := range []string{
		`{"id":2,"ok":{"slots":[],"sales":[{"id":"7","stock":5,"limit":2,"phase":"open"}]}}`,
		`{"ev":"tick","now":1,"sales":[{"id":"7","stock":3},{"id":"8","stock":1}]}`,
	} {
		f, err := wsclient.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f.Request.Op = wsclient.Watch // of the reply; an event has none
		if _, err := s.onFrame(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.sales[7]; len(s.sales) != 1 || got.Stock != 3 || got.Limit != 2 || got.Phase != shop.Open {
		t.Errorf("got the sales %+v, want sale 7 with the stock of the tick", s.sales)
	}
}

// TestCrowdRateDoesNotGrowWithItsSize: the rate of the whole crowd does not grow with its size.
func TestCrowdRateDoesNotGrowWithItsSize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 50, 500, 10_000} {
		rate := float64(n) / (&Crowd{Count: n}).pace().Seconds()
		if rate > crowdRate+0.01 {
			t.Errorf("%d shoppers: got %.1f buys per second, want at most %.1f", n, rate, crowdRate)
		}
	}
}
