package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/uptrace/bun"

	"stampede/app/journal"
	"stampede/app/shop"
)

// journalRow is journal.JournalEntry as the table has it. Rows are added by writeJournal and changed by nothing.
type journalRow struct {
	bun.BaseModel `bun:"table:journal"`

	Seq         int64       `bun:"seq,pk"`
	At          shop.Millis `bun:"at"`
	ActorID     shop.ID     `bun:"actor_id"`
	ActorName   string      `bun:"actor_name"`
	Role        shop.Role   `bun:"role"`
	Via         journal.Via `bun:"via"`
	Source      string      `bun:"source"`
	Request     string      `bun:"request"`
	Key         string      `bun:"operation_key"`
	RequestHash string      `bun:"request_hash"`
	Kind        string      `bun:"kind"`
	Object      string      `bun:"object"`
	Before      string      `bun:"before_json"`
	After       string      `bun:"after_json"`
	Note        string      `bun:"note"`
	Answer      string      `bun:"answer_json"`
	PrevHash    string      `bun:"prev_hash"`
	Hash        string      `bun:"hash"`
}

func (r *journalRow) entry() journal.JournalEntry {
	return journal.JournalEntry{
		Seq: r.Seq, At: r.At, ActorID: r.ActorID, ActorName: r.ActorName, Role: r.Role, Via: r.Via, Source: r.Source,
		Request: r.Request, Key: r.Key, RequestHash: r.RequestHash, Kind: r.Kind, Object: r.Object,
		Before: json.RawMessage(r.Before), After: json.RawMessage(r.After), Note: r.Note,
		Answer: json.RawMessage(r.Answer), PrevHash: r.PrevHash, Hash: r.Hash,
	}
}

// JournalPage reads rows of the journal, the newest first.
func (s *Store) JournalPage(ctx context.Context, q journal.JournalQuery) ([]journal.JournalEntry, error) {
	var rows []journalRow
	sel := s.db.NewSelect().Model(&rows).Order("seq DESC").Limit(int64(q.Limit))
	sel = whereSet(whereSet(sel, "seq < ?", max(q.Before, 0)), "object = ?", q.Object)
	if id, err := shop.ParseID(q.Actor); err == nil {
		sel = sel.Where("actor_id = ?", id)
	} else {
		sel = whereSet(sel, "actor_name = ?", q.Actor)
	}
	err := whereSet(whereSet(sel, "kind = ?", q.Kind), "at >= ?", max(q.Since, 0)).Scan(ctx)
	return convert(rows, (*journalRow).entry), wrap("read the journal", err)
}

// JournalFrom reads rows in the order in which they were written, from a number on.
func (s *Store) JournalFrom(ctx context.Context, seq int64, limit int) ([]journal.JournalEntry, error) {
	var rows []journalRow
	err := s.db.NewSelect().Model(&rows).Where("seq >= ?", seq).Order("seq").Limit(int64(limit)).Scan(ctx)
	return convert(rows, (*journalRow).entry), wrap("walk along the journal", err)
}

// JournalHead is the last row, as of the row beside the journal that is locked for each act.
func (s *Store) JournalHead(ctx context.Context) (head journal.JournalHead, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT seq, hash FROM journal_head WHERE id = 1").Scan(&head.Seq, &head.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return head, nil
	}
	return head, wrap("read the head of the journal", err)
}
