package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	maxLatencyMicros = 1<<32 - 1 // µs, more than an hour; longer latencies are recorded as this value
	precision        = 3         // significant digits
)

// histogram counts latencies in microseconds with three significant digits. The zero value is empty. A copy shares its
// counts. Only the first record allocates.
type histogram struct {
	hdr     *hdrhistogram.Histogram
	maximum int64 // exact maximum in µs
}

func (h *histogram) counts() *hdrhistogram.Histogram {
	if h.hdr == nil {
		h.hdr = hdrhistogram.New(1, maxLatencyMicros, precision)
	}
	return h.hdr
}

// record counts one latency; negative values count as 0.
func (h *histogram) record(d time.Duration) {
	us := min(max(d.Microseconds(), 0), maxLatencyMicros)
	_ = h.counts().RecordValue(us) // fails only out of range
	h.maximum = max(h.maximum, us)
}

func (h *histogram) total() int64 { return h.counts().TotalCount() }

func (h *histogram) merge(other *histogram) {
	h.counts().Merge(other.counts())
	h.maximum = max(h.maximum, other.maximum)
}

// quantile returns the latency in ms that the share q of all values does not exceed; 0 without values.
func (h *histogram) quantile(q float64) float64 {
	if h.total() == 0 {
		return 0
	}
	return float64(min(h.counts().ValueAtQuantile(100*q), h.maximum)) / 1000
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
	return &Latency{h.quantile(0.5), h.quantile(0.9), h.quantile(0.99), float64(h.maximum) / 1000}
}
