package fakes

import (
	"context"
	"encoding/json"
	"testing"

	"stampede/app/journal"
)

// Acts is a journal in memory.
type Acts struct {
	ActStore
	Rows []journal.Entry
}

func (f *Acts) Act(
	ctx context.Context, actor journal.Actor, do func(ctx context.Context) (journal.Act, error),
) (journal.Done, error) {
	for _, r := range f.Rows {
		if actor.Key != "" && r.Key == actor.Key && r.ActorName == actor.Name {
			return journal.Done{Seq: r.Seq, Answer: r.Answer, Repeated: true}, nil
		}
	}
	act, err := do(ctx)
	if err != nil {
		return journal.Done{}, err
	}
	answer, err := json.Marshal(act.Answer)
	if err != nil {
		return journal.Done{}, err
	}
	e := journal.Entry{
		Seq: int64(len(f.Rows)) + 1, ActorName: actor.Name, Key: actor.Key, Kind: act.Kind, Object: act.Object,
		Note: act.Note, Answer: answer,
	}
	if e.Seq > 1 {
		e.PrevHash = f.Rows[e.Seq-2].Hash
	}
	e.Hash = e.Sum()
	f.Rows = append(f.Rows, e)
	return journal.Done{Seq: e.Seq, Answer: answer}, nil
}

func (f *Acts) JournalHead(context.Context) (journal.Head, error) {
	if len(f.Rows) == 0 {
		return journal.Head{}, nil
	}
	last := f.Rows[len(f.Rows)-1]
	return journal.Head{Seq: last.Seq, Hash: last.Hash}, nil
}

func (f *Acts) JournalFrom(_ context.Context, seq int64, limit int) ([]journal.Entry, error) {
	var page []journal.Entry
	for _, r := range f.Rows {
		if r.Seq >= seq && len(page) < limit {
			page = append(page, r)
		}
	}
	return page, nil
}

// Must ends the test if a step that it needs has failed.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ErrOf[T any](_ T, err error) error { return err }
