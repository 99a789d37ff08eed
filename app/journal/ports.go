package journal

import (
	"context"
)

// ActStore is the durable truth about acts. Errors wrap ErrTransient or ErrPermanent.
type ActStore interface {
	Act(ctx context.Context, actor Actor, do func(ctx context.Context) (Act, error)) (Done, error)
	JournalPage(ctx context.Context, q JournalQuery) ([]JournalEntry, error)
	JournalFrom(ctx context.Context, seq int64, limit int) ([]JournalEntry, error)
	JournalHead(ctx context.Context) (JournalHead, error)
}
