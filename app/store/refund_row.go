package store

import (
	"github.com/uptrace/bun"

	"stampede/app"
)

// refundRow is app.Refund as the table has it.
type refundRow struct {
	bun.BaseModel `bun:"table:refunds"`

	Order     app.ID          `bun:"order_id,pk"`
	Request   string          `bun:"request"`
	State     app.RefundState `bun:"state"`
	AmountFen int64           `bun:"amount_fen"`
	Reason    string          `bun:"reason"`
	AskedBy   app.ID          `bun:"asked_by"`
	AskedAt   app.Millis      `bun:"asked_at"`
	DecidedBy app.ID          `bun:"decided_by"`
	DecidedAt app.Millis      `bun:"decided_at"`
	DoneAt    app.Millis      `bun:"done_at"`
	Attempts  int             `bun:"attempts"`
	NextAt    *app.Millis     `bun:"next_at"`
	Note      string          `bun:"note"`
}

func (r *refundRow) refund() app.Refund {
	out := app.Refund{
		Order: r.Order, Request: r.Request, State: r.State, AmountFen: r.AmountFen, Reason: r.Reason,
		AskedBy: r.AskedBy, AskedAt: r.AskedAt, DecidedBy: r.DecidedBy, DecidedAt: r.DecidedAt, DoneAt: r.DoneAt,
		Attempts: r.Attempts, Note: r.Note,
	}
	if r.NextAt != nil {
		out.NextAt = *r.NextAt
	}
	return out
}
