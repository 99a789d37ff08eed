package board

// SaleWaits are the half and the hundredth that waited longest.
type SaleWaits struct {
	Orders int64 `json:"orders"`
	P50    int64 `json:"p50_ms"`
	P99    int64 `json:"p99_ms"`
}
