package store

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// idsAtOnce is the longest list of ids in a statement. From 1000 on, MariaDB turns a list into a temporary table and
// reads, and locks, the rows in an order of its own.
const idsAtOnce = 500

// inOrder cuts ids into lists for statements, sorted and each once: locks are taken in the order of ids.
func inOrder(ids []shop.ID) iter.Seq[[]shop.ID] {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Chunk(slices.Compact(ids), idsAtOnce)
}

// selection narrows a query down.
type selection func(*bun.SelectQuery) *bun.SelectQuery

// where narrows a query down by one condition.
func where(condition string, args ...any) selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where(condition, args...) }
}

// whereSet narrows a query down by a value that is not zero.
func whereSet[T comparable](q *bun.SelectQuery, condition string, value T) *bun.SelectQuery {
	var zero T
	if value == zero {
		return q
	}
	return q.Where(condition, value)
}

// locking keeps the rows of a query from changing until the transaction ends.
func (s *Store) locking(q *bun.SelectQuery) *bun.SelectQuery {
	if s.d.forUpdate == "" { // SQLite: the transaction has the whole file
		return q
	}
	return q.For("UPDATE")
}

// claimDue takes rows that are due, and puts them off in the same transaction. putOff gets at least one row.
func claimDue[R any](
	ctx context.Context, s *Store, what string, due func(db bun.IDB, rows *[]R) *bun.SelectQuery,
	putOff func(tx bun.Conn, rows []R) error,
) ([]R, error) {
	// Most of the time nothing is due, and to see that needs no lock.
	waits, err := due(s.db, &[]R{}).Exists(ctx)
	if err != nil || !waits {
		return nil, wrap(what, err)
	}
	return inTx(ctx, s, what, func(tx bun.Conn) (rows []R, err error) {
		if err := s.locking(due(tx, &rows)).Scan(ctx); err != nil || len(rows) == 0 { // another node was faster
			return nil, err
		}
		return rows, putOff(tx, rows)
	})
}

// convert makes what the program works with of rows.
func convert[R, T any](rows []R, one func(r *R) T) []T {
	out := make([]T, len(rows))
	for i := range rows {
		out[i] = one(&rows[i])
	}
	return out
}

// only answers the one that was found, or ErrNoRow.
func only[T any](what string, found []T, err error) (one T, _ error) {
	if err == nil && len(found) == 0 {
		err = wrap(what, shop.ErrNoRow)
	}
	if err != nil {
		return one, err
	}
	return found[0], nil
}

// cut shortens a page that was read with one row too many, which reports whether there are more.
func cut[T any](page []T, size int) ([]T, bool) {
	if len(page) <= size {
		return page, false
	}
	return page[:size], true
}

// containing makes a pattern for LIKE … ESCAPE '!' that finds the text anywhere, whatever signs it has.
func containing(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
}
