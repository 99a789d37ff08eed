package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"stampede/app/journal"
	"stampede/app/shop"
)

// Journal reads and writes the journal of operations.
type Journal struct{ *session }

// operationTx is the transaction of an operation.
type operationTx struct {
	conn bun.Conn
	// failed is the first error of a call in the transaction. The operation fails with this error even if its function
	// ignored the error, because the database may have rolled back.
	failed error
}

// join runs fn in the transaction of an operation.
func (o *operationTx) join(fn func(tx bun.Conn) error) error {
	err := fn(o.conn)
	if err != nil && o.failed == nil {
		o.failed = err
	}
	return err
}

// errDryRun rolls back a dry run.
var errDryRun = errors.New("a dry run is rolled back")

// RunOperation calls `run` and writes the journal row in one transaction, which contains all calls of tx. `run` may be
// called several times. An error of `run` or of a call of tx rolls everything back. A dry run is always rolled back and
// returns the result.
//
// The head of the journal is locked first. Operations are therefore serial. Of two operations with the same key, the
// second finds the result of the first.
//
//   - DuplicateKey: the actor used the key for another request.
//   - Busy, wrapping ErrTransient: the operation may be committed. A repeat with the same key completes it.
func (s *Store) RunOperation(
	ctx context.Context, actor journal.Actor, run func(tx *Store) (journal.Operation, error),
) (journal.Done, error) {
	if s.operation != nil {
		return journal.Done{}, errors.New("an operation cannot be part of another one")
	}
	if err := actor.Check(); err != nil {
		return journal.Done{}, err
	}
	var done journal.Done
	err := s.inTx(ctx, "run an operation", func(tx bun.Conn) (err error) {
		if done, err = s.tryOperation(ctx, tx, &actor, run); err == nil && actor.DryRun {
			err = errDryRun
		}
		return err
	})
	if err == nil || errors.Is(err, errDryRun) {
		return done, nil
	}
	return journal.Done{}, shop.UnknownOutcome("run an operation", err)
}

// tryOperation runs an operation once. If the journal has the key, tryOperation returns the recorded result instead.
func (s *Store) tryOperation(
	ctx context.Context, tx bun.Conn, actor *journal.Actor, run func(tx *Store) (journal.Operation, error),
) (done journal.Done, err error) {
	head, err := s.Journal().lockJournal(ctx, tx)
	if err != nil {
		return done, err
	}
	if !actor.DryRun {
		if done, known, err := doneBefore(ctx, tx, actor); known || err != nil {
			return done, err
		}
	}
	joined := &Store{&session{pool: s.pool, db: tx, operation: &operationTx{conn: tx}, recovers: s.recovers}}
	operation, err := run(joined)
	operation.Note = cmp.Or(operation.Note, actor.Note)
	switch err = cmp.Or(err, joined.operation.failed); {
	case err != nil:
		return done, err
	case actor.DryRun:
		done.Result, err = json.Marshal(operation.Result)
		return done, err
	}
	return s.Journal().writeJournal(ctx, tx, head, actor, &operation)
}

// RunOperationFor is Store.RunOperation for an operation whose result is a T.
func RunOperationFor[T any](
	ctx context.Context, s *Store, actor journal.Actor, run func(tx *Store) (journal.Operation, error),
) (result T, err error) {
	done, err := s.RunOperation(ctx, actor, run)
	if err == nil {
		err = done.Decode(&result)
	}
	return result, err
}

// lockJournal locks the head until the transaction ends. It inserts the head before the first operation.
func (s Journal) lockJournal(ctx context.Context, tx bun.Conn) (head journal.Head, err error) {
	_, err = exec(ctx, tx, "INSERT INTO journal_head (id, seq, hash) VALUES (1, 0, '') "+s.d.onDuplicate+" id = 1")
	if err != nil {
		return head, err
	}
	err = tx.QueryRowContext(ctx, "SELECT seq, hash FROM journal_head WHERE id = 1"+s.d.forUpdate).
		Scan(&head.Seq, &head.Hash)
	return head, err
}

// doneBefore finds the earlier operation of the actor with the same key. DuplicateKey: the key belongs to another
// request.
func doneBefore(ctx context.Context, tx bun.Conn, actor *journal.Actor) (done journal.Done, known bool, err error) {
	var rows []journalRow
	err = tx.NewSelect().Model(&rows).
		Where("actor_id = ? AND actor_name = ? AND operation_key = ?", actor.User, actorName(actor), actor.Key).Scan(ctx)
	switch {
	case err != nil || len(rows) == 0:
		return done, false, err
	case rows[0].RequestHash != actor.Hash:
		return done, true, shop.Fail(shop.DuplicateKey, fmt.Sprintf("this Idempotency-Key was used for another operation: "+
			"%s, row %d of the journal", rows[0].Kind, rows[0].Seq))
	}
	return journal.Done{Seq: rows[0].Seq, Result: json.RawMessage(rows[0].Result), Repeated: true}, true, nil
}

// maxActorName is the size of the column, in characters.
const maxActorName = 80

func actorName(a *journal.Actor) string {
	return clip(strings.ToValidUTF8(a.Name, "\uFFFD"), maxActorName)
}

// writeJournal inserts the row and moves the head.
func (s Journal) writeJournal(
	ctx context.Context, tx bun.Conn, head journal.Head, actor *journal.Actor, operation *journal.Operation,
) (journal.Done, error) {
	row := journalRow{
		Seq: head.Seq + 1, ActorID: actor.User, ActorName: actorName(actor), Role: actor.Role, Via: actor.Via,
		Source: clip(actor.From, maxActorName), Request: actor.Request, Key: actor.Key, RequestHash: actor.Hash,
		Kind: operation.Kind, Object: operation.Object, Note: clip(operation.Note,
			journal.MaxNote), PrevHash: head.Hash,
	}
	if !utf8.ValidString(row.Source + row.Request + row.Object + row.Note) {
		return journal.Done{}, shop.Fail(shop.BadRequest, "the operation has text with invalid characters")
	}
	for text, v := range map[*string]any{
		&row.Before: operation.Before, &row.After: operation.After,
		&row.Result: operation.Result,
	} {
		if v == nil && text == &row.Result {
			v = struct{}{}
		} else if v == nil {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return journal.Done{}, fmt.Errorf("encode operation %s as JSON: %w", operation.Kind, err)
		}
		*text = string(b)
	}
	now, err := s.clock(ctx, tx)
	if err != nil {
		return journal.Done{}, err
	}
	row.At = now.At
	entry := row.entry()
	row.Hash = entry.Sum()
	if err := insert(ctx, tx, &row); err != nil {
		return journal.Done{}, err
	}
	err = execMatching(ctx, tx, 1, "move the head of the journal",
		"UPDATE journal_head SET seq = ?, hash = ? WHERE id = 1 AND seq = ?", row.Seq, row.Hash, head.Seq)
	return journal.Done{Seq: row.Seq, Result: json.RawMessage(row.Result)}, err
}

// journalRow is the row of a journal.Entry. writeJournal adds rows; they never change.
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
	Result      string      `bun:"answer_json"`
	PrevHash    string      `bun:"prev_hash"`
	Hash        string      `bun:"hash"`
}

func (r *journalRow) entry() journal.Entry {
	return journal.Entry{
		Seq: r.Seq, At: r.At, ActorID: r.ActorID, ActorName: r.ActorName, Role: r.Role, Via: r.Via, Source: r.Source,
		Request: r.Request, Key: r.Key, RequestHash: r.RequestHash, Kind: r.Kind, Object: r.Object,
		Before: json.RawMessage(r.Before), After: json.RawMessage(r.After), Note: r.Note,
		Result: json.RawMessage(r.Result), PrevHash: r.PrevHash, Hash: r.Hash,
	}
}

// ListJournal returns rows, the newest first; more reports whether older rows exist.
func (s Journal) ListJournal(ctx context.Context, q journal.Query) (page []journal.Entry, more bool, err error) {
	var rows []journalRow
	sel := s.db.NewSelect().Model(&rows).Order("seq DESC").Limit(int64(q.Limit) + 1)
	sel = whereSet(whereSet(sel, "seq < ?", max(q.Before, 0)), "object = ?", q.Object)
	if id, err := shop.ParseID(q.Actor); err == nil {
		sel = sel.Where("actor_id = ?", id)
	} else {
		sel = whereSet(sel, "actor_name = ?", q.Actor)
	}
	err = whereSet(whereSet(sel, "kind = ?", q.Kind), "at >= ?", max(q.Since, 0)).Scan(ctx)
	return shop.FirstOf("the journal", convert(rows, (*journalRow).entry), q.Limit, wrap("read the journal", err))
}

// VerifyJournal reads the whole journal and reports the first invalid row. The journal must also contain the given head
// from an earlier report ("": no head).
func (s Journal) VerifyJournal(ctx context.Context, givenHead string) (journal.Report, error) {
	var given journal.Head // without a row: every journal contains it
	if givenHead != "" {
		var err error
		if given, err = journal.ParseHead(givenHead); err != nil {
			return journal.Report{}, err
		}
	}
	// Read the head first. Operations continue during the verification, so there may be newer rows than the head. The
	// row of the head must exist.
	head, err := s.JournalHead(ctx)
	if err != nil {
		return journal.Report{}, shop.Unavailable("the journal", err)
	}
	report, err := journal.Verify(ctx, s.JournalFrom, head, given)
	return report, shop.Unavailable("the journal", err)
}

// JournalFrom reads rows in the order in which they were written, starting at seq.
func (s Journal) JournalFrom(ctx context.Context, seq int64, limit int) ([]journal.Entry, error) {
	var rows []journalRow
	err := s.db.NewSelect().Model(&rows).Where("seq >= ?", seq).Order("seq").Limit(int64(limit)).Scan(ctx)
	return convert(rows, (*journalRow).entry), wrap("read the journal in order", err)
}

// JournalHead returns the number and the hash of the last row. It reads them from journal_head, which each operation
// locks.
func (s Journal) JournalHead(ctx context.Context) (head journal.Head, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT seq, hash FROM journal_head WHERE id = 1").Scan(&head.Seq, &head.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return head, nil
	}
	return head, wrap("read the head of the journal", err)
}
