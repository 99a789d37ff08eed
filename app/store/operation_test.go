package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

func operatorWithKey(key string) journal.Actor {
	return journal.Actor{
		User: 7, Name: "阿达", Role: shop.Operator, Via: journal.ViaHTTP, From: "2001:db8::1", Request: "r-1", Key: key,
		Hash: strings.Repeat("a", 64),
	}
}

// blockUser returns an operation that blocks a user, and counts its runs.
func blockUser(ctx context.Context, user string, ran *int) func(tx *store.Store) (journal.Operation, error) {
	return func(tx *store.Store) (journal.Operation, error) {
		*ran++
		b, err := tx.Blocks().AddBlock(ctx, store.Block{Kind: store.BlockUser, Value: user}, 0)
		return journal.Operation{Kind: "block.add", Object: "block:1", After: b, Note: "转售 <b>", Result: b}, err
	}
}

// An operation, its journal row and its result are committed together. The same key returns the same result without
// another run. The key is rejected for any other request.
func TestOperationRunsOncePerKey(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, ran := kit.Context(t), 0
		first, err := s.RunOperation(ctx, operatorWithKey("key-0001"), blockUser(ctx, "42", &ran))
		must(t, err)
		again, err := s.RunOperation(ctx, operatorWithKey("key-0001"), blockUser(ctx, "42", &ran))
		must(t, err)
		if first.Repeated || !again.Repeated || string(again.Result) != string(first.Result) ||
			again.Seq != 1 || ran != 1 {
			t.Errorf("got %+v, then %+v, after %d runs; want the same result after one run", first, again, ran)
		}
		other := operatorWithKey("key-0001")
		other.Hash = strings.Repeat("b", 64)
		wantErr(t, "the key with another request",
			errOf(s.RunOperation(ctx, other, blockUser(ctx, "43", &ran))), &shop.Error{Code: shop.DuplicateKey})
		otherActor := operatorWithKey("key-0001")
		otherActor.User = 8
		_, err = s.RunOperation(ctx, otherActor, blockUser(ctx, "44", &ran)) // the key of another actor
		must(t, err)
		wantErr(t, "a bad key",
			errOf(s.RunOperation(ctx, operatorWithKey("short"),
				blockUser(ctx, "45", &ran))), &shop.Error{Code: shop.BadRequest})
		listed, err := s.Blocks().Blocks(ctx, 0)
		must(t, err)
		rows, _, err := s.Journal().ListJournal(ctx, journal.Query{Limit: 10})
		must(t, err)
		if len(listed) != 2 || len(rows) != 2 || rows[0].Seq != 2 || rows[1].Note != "转售 <b>" || rows[1].ActorName != "阿达" {
			t.Errorf("got %d blocks and the journal %+v, want two of each", len(listed), rows)
		}
		wantJournal(t, s, 2)
	})
}

// A failed operation changes nothing and its key stays free, even if the function ignores the error of one statement.
func TestFailedOperationChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, ran := kit.Context(t), 0
		broken := errors.New("broken")
		for name, after := range map[string]func(tx *store.Store) error{
			"an error": func(*store.Store) error { return broken },
			"a statement whose error is ignored": func(tx *store.Store) error {
				_, _ = tx.Blocks().RemoveBlock(ctx, 99)
				return nil
			},
			"an operation in an operation": func(tx *store.Store) error {
				_, err := tx.RunOperation(ctx, operatorWithKey("key-0002"), blockUser(ctx, "43", &ran))
				return err
			},
		} {
			_, err := s.RunOperation(ctx, operatorWithKey("key-0001"), func(tx *store.Store) (journal.Operation, error) {
				operation, err := blockUser(ctx, "42", &ran)(tx)
				if err != nil {
					return operation, err
				}
				return operation, after(tx)
			})
			if err == nil {
				t.Errorf("%s: got no error", name)
			}
			listed := val(s.Blocks().Blocks(ctx, 0))(t)
			if len(listed) != 0 {
				t.Errorf("%s: got %d blocks, want 0", name, len(listed))
			}
			wantJournal(t, s, 0)
		}
		if done, err := s.RunOperation(ctx, operatorWithKey("key-0001"), blockUser(ctx, "42", &ran)); err != nil ||
			done.Seq != 1 {
			t.Errorf("the next operation: got %+v (%v), want seq 1", done, err)
		}
	})
}

// A dry run returns the result of the operation and changes nothing; its key stays free. Its reads return its own
// changes.
func TestDryOperationLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, ran := kit.Context(t), 0
		actor := dryRun(operatorWithKey("key-0001"))
		for range 2 {
			b, err := store.RunOperationFor[store.Block](ctx, s, actor,
				func(tx *store.Store) (journal.Operation, error) {
					operation, err := blockUser(ctx, "42", &ran)(tx)
					if seen := val(tx.Blocks().Blocks(ctx, 0))(t); len(seen) != 1 {
						t.Errorf("the dry run reads %d blocks, want 1", len(seen))
					}
					return operation, err
				})
			if err != nil || b.Value != "42" {
				t.Errorf("dry run: got the block %+v (%v)", b, err)
			}
		}
		if listed := val(s.Blocks().Blocks(ctx, 0))(t); len(listed) != 0 || ran != 2 {
			t.Errorf("got %d blocks after %d runs", len(listed), ran)
		}
		wantJournal(t, s, 0)
		actor.DryRun = false
		if done, err := s.RunOperation(ctx, actor, blockUser(ctx, "42", &ran)); err != nil || done.Seq != 1 {
			t.Errorf("the next operation: got %+v (%v), want seq 1", done, err)
		}
	})
}

// The actor's note is used if the operation has none of its own. An invalid note is rejected before any change.
func TestActorNoteIsTheDefaultNote(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		for i, c := range []struct{ actor, own, want string }{{"why", "", "why"}, {"why", "mine", "mine"}, {"", "", ""}} {
			actor := operatorWithKey(fmt.Sprintf("key-%04d", i))
			actor.Note = c.actor
			must(t, errOf(s.RunOperation(ctx, actor, func(*store.Store) (journal.Operation, error) {
				return journal.Operation{Kind: "x", Note: c.own}, nil
			})))
			rows, _, err := s.Journal().ListJournal(ctx, journal.Query{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if rows[0].Note != c.want {
				t.Errorf("case %+v: got the note %q", c, rows[0].Note)
			}
		}
		actor := operatorWithKey("key-0009")
		actor.Note = "a\x00b"
		wantErr(t, "an invalid note", errOf(s.RunOperation(ctx, actor, func(*store.Store) (journal.Operation, error) {
			t.Error("the operation ran")
			return journal.Operation{}, nil
		})), &shop.Error{Code: shop.BadRequest})
	})
}

// Concurrent operations, each sent twice, write one row each, and the hash chain stays valid.
func TestConcurrentOperationsKeepTheHashChain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		const operations = 6
		var g errgroup.Group
		for i := range 2 * operations {
			g.Go(func() error {
				n := i % operations
				for {
					_, err := s.RunOperation(ctx, operatorWithKey(fmt.Sprintf("key-%04d", n)),
						func(tx *store.Store) (journal.Operation, error) {
							_, err := tx.Blocks().AddBlock(
								ctx, store.Block{Kind: store.BlockUser, Value: shop.ID(1 + n).String()}, 0,
							)
							return journal.Operation{Kind: "block.add", Object: fmt.Sprintf("block:%d", n)}, err
						})
					// The error is transient if another transaction holds the lock longer than the lock timeout.
					if !errors.Is(err, shop.ErrTransient) || ctx.Err() != nil {
						return err
					}
				}
			})
		}
		must(t, g.Wait())
		wantJournal(t, s, operations)
		for _, q := range []struct {
			query journal.Query
			rows  int
		}{
			{journal.Query{Limit: 100}, operations},
			{journal.Query{Limit: 4}, 4},
			{journal.Query{Limit: 100, Before: 3}, 2},
			{journal.Query{Limit: 100, Object: "block:3"}, 1},
			{journal.Query{Limit: 100, Actor: "7"}, operations},
			{journal.Query{Limit: 100, Actor: "阿达", Kind: "block.add"}, operations},
			{journal.Query{Limit: 100, Actor: "8"}, 0},
			{journal.Query{Limit: 100, Kind: "block.remove"}, 0},
			{journal.Query{Limit: 100, Since: closes * 2}, 0},
		} {
			rows, _, err := s.Journal().ListJournal(ctx, q.query)
			if err != nil || len(rows) != q.rows {
				t.Errorf("query %+v: got %d rows (%v), want %d", q.query, len(rows), err, q.rows)
			}
		}
	})
}

// wantJournal verifies the hash chain in the database.
func wantJournal(t *testing.T, s *store.Store, rows int64) {
	t.Helper()
	report, err := s.Journal().VerifyJournal(kit.Context(t), "")
	if err != nil || !report.OK || report.Rows != rows {
		t.Errorf("journal: %+v, %v; want a valid hash chain of %d rows", report, err, rows)
	}
}

// TestJournalRowsAreNeverChanged checks that no statement of the program changes or removes a journal row.
func TestJournalRowsAreNeverChanged(t *testing.T) {
	t.Parallel()
	changes := regexp.MustCompile(`(?i)(UPDATE|DELETE FROM|REPLACE INTO|TRUNCATE|ALTER TABLE)\s+"?journal\b[^_]|New(Update|Delete)\(\)\.Model\([^)]*journal`)
	if !changes.MatchString(`UPDATE journal SET`) || !changes.MatchString("tx.NewDelete().Model((*journalRow)(nil))") {
		t.Fatal("the pattern does not match its example")
	}
	searched := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".sql") || strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			searched++
			if found := changes.Find(text); found != nil {
				t.Errorf("file %s changes journal rows: %s", path, found)
			}
		}
		return nil
	})
	if err != nil || searched < 100 {
		t.Errorf("searched %d files, want at least 100: %v", searched, err)
	}
}
