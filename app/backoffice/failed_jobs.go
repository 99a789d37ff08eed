package backoffice

import (
	"context"
	"errors"

	"stampede/app/journal"
	"stampede/app/outbox"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
)

// FailedJobs manages failed jobs for operators: dead letters, quarantined postings and quarantined e-mails. Each
// operation is committed to the journal before it runs in Redis. After a crash in between, a repeat completes it.
type FailedJobs struct {
	Store    *store.Store
	Letters  *recovery.DeadLetters
	Postings Quarantine[outbox.QuarantinedMessage]
	Mails    Quarantine[outbox.QuarantinedEmail]
}

// Quarantine stores messages that could not be delivered until an operator replays or drops them.
type Quarantine[M any] interface {
	// Quarantined returns the messages, oldest first.
	Quarantined(ctx context.Context) ([]M, error)
	// Replay delivers a message again. ErrNoRow: no such message. ErrPermanent: it cannot be delivered.
	Replay(ctx context.Context, id string) error
	// Drop deletes a message and reports whether it existed.
	Drop(ctx context.Context, id string) (bool, error)
}

// ListDead returns the oldest dead letters, up to limit, and reports whether there are more.
func (f *FailedJobs) ListDead(ctx context.Context, limit int) ([]shop.DeadLetter, bool, error) {
	all, err := f.Letters.Redis.Queue().DeadLetters(ctx)
	return shop.FirstOf("dead letters", all, limit, err)
}

// DeadLetter reads one dead letter. NotFound: no such dead letter.
func (f *FailedJobs) DeadLetter(ctx context.Context, id string) (shop.DeadLetter, error) {
	letter, err := f.Letters.Redis.Queue().DeadLetter(ctx, id)
	if errors.Is(err, shop.ErrNoRow) {
		return letter, shop.Fail(shop.NotFound, "no such dead letter: "+shop.Clip(id, 40))
	}
	return letter, shop.Unavailable("the dead letter", err)
}

// ReplayDead processes the order of a dead letter once more. See recovery.DeadLetters.
func (f *FailedJobs) ReplayDead(ctx context.Context, actor journal.Actor, id string) (shop.Order, error) {
	done, letter, err := f.runOnDeadLetter(ctx, actor, "dead.replay", id)
	if err != nil {
		return shop.Order{}, err
	}
	order, err := f.Letters.Replay(ctx, id)
	if done.Repeated && errors.Is(err, &shop.Error{Code: shop.NotFound}) { // the first call completed
		order, err = f.Store.Orders().Order(ctx, letter.Order)
	}
	return order, shop.UnknownOutcome("replay dead letter "+shop.Clip(id, 40), err)
}

// DropDead deletes a dead letter; its order stays refused.
func (f *FailedJobs) DropDead(ctx context.Context, actor journal.Actor, id string) error {
	if _, _, err := f.runOnDeadLetter(ctx, actor, "dead.drop", id); err != nil {
		return err
	}
	_, err := f.Letters.Redis.Queue().RemoveDeadLetter(ctx, id)
	return shop.UnknownOutcome("drop dead letter "+shop.Clip(id, 40), err)
}

// letterOrder is the part of a dead letter that the journal stores. Both fields are 0 if the entry was unreadable.
type letterOrder struct {
	Order shop.ID `json:"order,omitempty"`
	Sale  shop.ID `json:"sale,omitempty"`
}

// runOnDeadLetter writes the operation to the journal before it is performed, and returns the order of the dead letter.
func (f *FailedJobs) runOnDeadLetter(
	ctx context.Context, actor journal.Actor, kind, id string,
) (done journal.Done, entry letterOrder, err error) {
	done, err = f.Store.RunOperation(ctx, actor, func(*store.Store) (journal.Operation, error) {
		letter, err := f.DeadLetter(ctx, id)
		entry := letterOrder{letter.Order, letter.Sale}
		return journal.Operation{Kind: kind, Object: "dead:" + id, Before: entry, Result: entry}, err
	})
	if err == nil {
		err = done.Decode(&entry)
	}
	return done, entry, shop.UnknownOutcome(kind, err)
}

// ListMessages returns the oldest quarantined postings, up to limit, and reports whether there are more.
func (f *FailedJobs) ListMessages(ctx context.Context, limit int) ([]outbox.QuarantinedMessage, bool, error) {
	all, err := f.Postings.Quarantined(ctx)
	return shop.FirstOf("quarantined postings", all, limit, err)
}

// ReplayMessage delivers a quarantined posting again.
func (f *FailedJobs) ReplayMessage(ctx context.Context, actor journal.Actor, id string) error {
	return f.runOnEntry(ctx, actor, failedJob{"parked.replay", "parked:", id, f.journaledPosting}, f.Postings.Replay)
}

// DropMessage deletes a quarantined posting.
func (f *FailedJobs) DropMessage(ctx context.Context, actor journal.Actor, id string) error {
	return f.runOnEntry(ctx, actor, failedJob{"parked.drop", "parked:", id, f.journaledPosting}, withoutResult(f.Postings.Drop))
}

// Repost appends every posting that reached the back office since the instant to its stream once more, and returns the
// number of entries. A worker appends them.
func (f *FailedJobs) Repost(ctx context.Context, actor journal.Actor, since shop.Millis) (int64, error) {
	return store.RunOperationFor[int64](ctx, f.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		n, err := tx.Outbox().Repost(ctx, since)
		after := map[string]any{"since": since, "entries": n}
		return journal.Operation{Kind: "backoffice.repost", Object: "backoffice", After: after, Result: n}, err
	})
}

func (f *FailedJobs) journaledPosting(ctx context.Context, id string) (any, error) {
	all, err := f.Postings.Quarantined(ctx)
	return findEntry(all, err, func(m *outbox.QuarantinedMessage) (any, bool) {
		return map[string]any{"order": m.Message.Order, "rev": m.Message.Rev}, m.ID == id
	})
}

// ListEmails returns the oldest quarantined e-mails, up to limit, and reports whether there are more.
func (f *FailedJobs) ListEmails(ctx context.Context, limit int) ([]outbox.QuarantinedEmail, bool, error) {
	all, err := f.Mails.Quarantined(ctx)
	return shop.FirstOf("quarantined e-mails", all, limit, err)
}

// ReplayEmail sends a quarantined e-mail again.
func (f *FailedJobs) ReplayEmail(ctx context.Context, actor journal.Actor, id string) error {
	return f.runOnEntry(ctx, actor, failedJob{"mail.retry", "mail:", id, f.journaledEmail}, f.Mails.Replay)
}

// DropEmail deletes a quarantined e-mail.
func (f *FailedJobs) DropEmail(ctx context.Context, actor journal.Actor, id string) error {
	return f.runOnEntry(ctx, actor, failedJob{"mail.drop", "mail:", id, f.journaledEmail}, withoutResult(f.Mails.Drop))
}

func (f *FailedJobs) journaledEmail(ctx context.Context, id string) (any, error) {
	all, err := f.Mails.Quarantined(ctx)
	return findEntry(all, err, func(m *outbox.QuarantinedEmail) (any, bool) {
		return map[string]any{"kind": m.Kind}, m.ID == id // the address is personal data
	})
}

// failedJob is the entry on which an operation acts. existing returns the part of it that the journal stores.
type failedJob struct {
	kind, object, id string
	existing         func(ctx context.Context, id string) (any, error)
}

// runOnEntry writes the operation to the journal and then performs it. If the entry is missing when an operation is
// repeated, the first attempt has completed.
func (f *FailedJobs) runOnEntry(
	ctx context.Context, actor journal.Actor, e failedJob, change func(ctx context.Context, id string) error,
) error {
	done, err := f.Store.RunOperation(ctx, actor, func(*store.Store) (journal.Operation, error) {
		before, err := e.existing(ctx, e.id)
		if errors.Is(err, shop.ErrNoRow) {
			return journal.Operation{}, shop.Fail(shop.NotFound, "no such entry: "+shop.Clip(e.id, 40))
		}
		return journal.Operation{Kind: e.kind, Object: e.object + e.id, Before: before}, err
	})
	if err == nil {
		err = change(ctx, e.id)
	}
	switch {
	case errors.Is(err, shop.ErrNoRow) && done.Repeated:
		return nil
	case errors.Is(err, shop.ErrNoRow):
		return shop.Fail(shop.NotFound, "the entry no longer exists: "+shop.Clip(e.id, 40))
	case errors.Is(err, shop.ErrPermanent):
		return shop.Fail(shop.WrongState, "the entry cannot be sent; drop it")
	}
	return shop.UnknownOutcome(e.kind, err)
}

// withoutResult adapts a drop to an operation; an entry that another caller has dropped is not an error.
func withoutResult(drop func(ctx context.Context, id string) (bool, error)) func(ctx context.Context, id string) error {
	return func(ctx context.Context, id string) error {
		_, err := drop(ctx, id)
		return err
	}
}

// findEntry finds the entry for which match returns true, and returns the part of it that the journal stores. ErrNoRow:
// no such entry.
func findEntry[T any](all []T, err error, match func(one *T) (any, bool)) (any, error) {
	if err != nil {
		return nil, err
	}
	for i := range all {
		if kept, ok := match(&all[i]); ok {
			return kept, nil
		}
	}
	return nil, shop.ErrNoRow
}
