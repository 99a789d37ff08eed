package ports

import (
	"context"

	"stampede/app/journal"
)

// ActStore is the durable truth about acts. Errors wrap ErrTransient or ErrPermanent.
type ActStore interface {
	// Act runs do and writes its journal row in one transaction, which store calls with the context of do join. do may
	// run several times; an error of it or of a joined call rolls all back. Acts are serial. DuplicateKey: the actor
	// used the key for something else.
	Act(
		ctx context.Context, actor journal.Actor, do func(ctx context.Context) (journal.Act, error),
	) (journal.Done, error)
	// JournalPage reads rows of the journal, the newest first.
	JournalPage(ctx context.Context, q journal.JournalQuery) ([]journal.JournalEntry, error)
	// JournalFrom reads rows in the order in which they were written, from a number on.
	JournalFrom(ctx context.Context, seq int64, limit int) ([]journal.JournalEntry, error)
	// JournalHead is the last row, as of the row beside the journal that is locked for each act.
	JournalHead(ctx context.Context) (journal.JournalHead, error)
}
