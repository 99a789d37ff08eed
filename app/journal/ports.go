package journal

import (
	"context"
)

// Store reads the rows of the journal. Errors wrap ErrTransient or ErrPermanent.
type Store interface {
	JournalPage(ctx context.Context, q Query) ([]Entry, error)
	JournalFrom(ctx context.Context, seq int64, limit int) ([]Entry, error)
	JournalHead(ctx context.Context) (Head, error)
}
