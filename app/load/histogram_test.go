package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestQuantilesAreAccurateToThreeDigits compares the histogram with the sorted latencies.
func TestQuantilesAreAccurateToThreeDigits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, maxLatencyMicros), 1, 200).Draw(t, "latencies in µs")
		var h, second histogram
		for i, us := range all {
			into := &h
			if i%2 == 1 {
				into = &second
			}
			into.record(time.Duration(us) * time.Microsecond)
		}
		h.merge(&second)
		slices.Sort(all)
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		rank := max(1, int64(q*float64(len(all))+0.5))
		want := float64(all[rank-1]) / 1000
		if got := h.quantile(q); got < want || got > want*1.001+1e-9 {
			t.Fatalf("quantile %v of %v is %v, want %v", q, all, got, want)
		}
		if got := h.latency().Max; got != float64(all[len(all)-1])/1000 {
			t.Fatalf("got the maximum %v for the values %v", got, all)
		}
	})
}

func TestOutOfRangeLatenciesAreClamped(t *testing.T) {
	t.Parallel()
	var h histogram
	if h.latency() != nil || h.quantile(0.99) != 0 {
		t.Errorf("empty histogram: got latency %v, quantile %v; want nil and 0", h.latency(), h.quantile(0.99))
	}
	h.record(-time.Second)
	h.record(math.MaxInt64)
	if l := h.latency(); l.P50 != 0 || l.Max != float64(maxLatencyMicros)/1000 {
		t.Errorf("got latency %+v, want P50 0 and Max %v", l, float64(maxLatencyMicros)/1000)
	}
}
