package load

import (
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	longest   = 1<<32 - 1 // µs, more than an hour; longer latencies count as that
	precision = 3         // significant digits
)

// histogram counts latencies in microseconds with three significant digits, whatever their size. The zero value is
// empty; a copy goes on counting in the same place. Recording allocates nothing but the first time.
type histogram struct {
	of   *hdrhistogram.Histogram
	most int64 // µs, exactly
}

func (h *histogram) counts() *hdrhistogram.Histogram {
	if h.of == nil {
		h.of = hdrhistogram.New(1, longest, precision)
	}
	return h.of
}

// record counts one latency; a negative one counts as none.
func (h *histogram) record(d time.Duration) {
	us := min(max(d.Microseconds(), 0), longest)
	_ = h.counts().RecordValue(us) // it fails only out of range
	h.most = max(h.most, us)
}

func (h *histogram) total() int64 { return h.counts().TotalCount() }

func (h *histogram) merge(other *histogram) {
	h.counts().Merge(other.counts())
	h.most = max(h.most, other.most)
}

// quantile is a latency that the share q of all did not exceed, in milliseconds; 0 when nothing was recorded.
func (h *histogram) quantile(q float64) float64 {
	if h.total() == 0 {
		return 0
	}
	return float64(min(h.counts().ValueAtQuantile(100*q), h.most)) / 1000
}

// Latency is a distribution in milliseconds.
type Latency struct {
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func (h *histogram) latency() *Latency {
	if h.total() == 0 {
		return nil
	}
	return &Latency{h.quantile(0.5), h.quantile(0.9), h.quantile(0.99), float64(h.most) / 1000}
}

// samples is a histogram as it is kept: how many latencies there were of each size.
type samples struct {
	Most   int64      `json:"most_us"`
	Counts [][2]int64 `json:"counts"` // µs, how many; the smallest first
}

func (h *histogram) samples() samples {
	s := samples{Most: h.most, Counts: [][2]int64{}}
	if h.of != nil {
		for _, bar := range h.of.Distribution() {
			if bar.Count > 0 {
				s.Counts = append(s.Counts, [2]int64{bar.From, bar.Count})
			}
		}
	}
	return s
}

// manyOfOne is more than any run counts of one latency; so many of all sizes are still counted right.
const manyOfOne = 1 << 40

func (s *samples) histogram() (histogram, error) {
	h := histogram{most: s.Most}
	for _, c := range s.Counts {
		cannot := c[1] < 1 || c[1] > manyOfOne || c[0] > s.Most || s.Most > longest
		if cannot || h.counts().RecordValues(c[0], c[1]) != nil {
			return h, errors.New("counts of latencies that cannot be")
		}
	}
	return h, nil
}
