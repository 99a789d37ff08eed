package load

import (
	"math/bits"
	"time"
)

// histogram counts latencies in microseconds with three significant digits, whatever their size, as HdrHistogram
// does: 1,024 steps within each power of two. Recording allocates nothing.
type histogram struct {
	counts [(maxExponent + 2) * halfSteps]int64
	total  int64
	most   int64 // µs
}

const (
	stepBits    = 11
	halfSteps   = 1 << (stepBits - 1)
	maxExponent = 21 // up to 2³² µs, more than an hour; longer ones count as that
	longest     = 1<<(maxExponent+stepBits) - 1
)

// record counts one latency; a negative one counts as none.
func (h *histogram) record(d time.Duration) {
	us := min(max(d.Microseconds(), 0), longest)
	h.counts[stepOf(us)]++
	h.total++
	h.most = max(h.most, us)
}

func stepOf(us int64) int {
	e := max(0, bits.Len64(uint64(us))-stepBits)
	return e*halfSteps + int(us>>e)
}

// highest is the largest latency that counts in the step, µs.
func highest(step int) int64 {
	if step < 2*halfSteps {
		return int64(step)
	}
	e := step/halfSteps - 1
	return int64(step-e*halfSteps+1)<<e - 1
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.most = max(h.most, other.most)
}

// quantile is a latency that the share q of all did not exceed, in milliseconds; 0 when nothing was recorded.
func (h *histogram) quantile(q float64) float64 {
	rank := max(1, int64(q*float64(h.total)+0.5))
	seen := int64(0)
	for step, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return float64(min(highest(step), h.most)) / 1000
		}
	}
	return 0
}

// Latency is a distribution in milliseconds.
type Latency struct {
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func (h *histogram) latency() *Latency {
	if h.total == 0 {
		return nil
	}
	return &Latency{h.quantile(0.5), h.quantile(0.9), h.quantile(0.99), float64(h.most) / 1000}
}
