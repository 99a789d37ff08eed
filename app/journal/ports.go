package journal

import (
	"context"
)

// ActStore is the durable truth about acts. Errors wrap ErrTransient or ErrPermanent.
type ActStore interface {
	Act(ctx context.Context, actor Actor, do func(ctx context.Context) (Act, error)) (Done, error)
	JournalPage(ctx context.Context, q Query) ([]Entry, error)
	JournalFrom(ctx context.Context, seq int64, limit int) ([]Entry, error)
	JournalHead(ctx context.Context) (Head, error)
}
