package board

// WaitTimes has the median and the 99th percentile of the waiting times.
type WaitTimes struct {
	Orders int64 `json:"orders"`
	P50    int64 `json:"p50_ms"`
	P99    int64 `json:"p99_ms"`
}
