package shop

// StockState is the state of a withdrawal of units:
//
//	pending ── Redis has taken the free units, and the database counts them ──▶ done
//	   └─ no unit was free, or the sale is no longer in Redis ──▶ refused
type StockState string

const (
	StockPending StockState = "pending"
	StockDone    StockState = "done"
	StockRefused StockState = "refused"
)

// StockWithdrawal is the withdrawal of units from a sale.
type StockWithdrawal struct {
	ID    int64      `json:"id"`
	Sale  ID         `json:"sale"`
	Units int64      `json:"units"` // requested
	Taken int64      `json:"taken"` // at most Units: those that were free
	State StockState `json:"state"`
	At    Millis     `json:"at"`
}
