package shop

// StockState is how far the withdrawal of units has come:
//
//	pending ── Redis has taken what was free, and the database counts it ──▶ done
//	   └─ nothing was free, or the sale has left Redis ──▶ refused
type StockState string

const (
	StockPending StockState = "pending"
	StockDone    StockState = "done"
	StockRefused StockState = "refused"
)

// StockAct is the withdrawal of units from a sale.
type StockAct struct {
	ID    int64      `json:"id"`
	Sale  ID         `json:"sale"`
	Units int64      `json:"units"` // asked for
	Taken int64      `json:"taken"` // at most so many: what was free
	State StockState `json:"state"`
	At    Millis     `json:"at"`
}
