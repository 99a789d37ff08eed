package store

import (
	"context"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// idsAtOnce is the maximum number of ids in a statement. From 1000 ids on, MariaDB turns the list into a temporary
// table, and reads and locks the rows in another order.
const idsAtOnce = 500

// sortedChunks splits ids into sorted lists without duplicates, because locks are taken in the order of ids.
func sortedChunks(ids []shop.ID) iter.Seq[[]shop.ID] {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Chunk(slices.Compact(ids), idsAtOnce)
}

// selection adds conditions to a query.
type selection func(*bun.SelectQuery) *bun.SelectQuery

// where adds one condition to a query.
func where(condition string, args ...any) selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where(condition, args...) }
}

// whereSet adds a condition with the value, unless the value is zero.
func whereSet[T comparable](q *bun.SelectQuery, condition string, value T) *bun.SelectQuery {
	var zero T
	if value == zero {
		return q
	}
	return q.Where(condition, value)
}

// whereASCII adds a condition that compares columns in ASCII with texts of a request. Such a column contains no text
// outside ASCII, so that no row matches. MySQL and MariaDB would reject the comparison (error 1267).
func whereASCII(q *bun.SelectQuery, condition string, texts ...string) *bun.SelectQuery {
	args := make([]any, len(texts))
	for i, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
			return q.Where("1 = 0")
		}
		args[i] = text
	}
	return q.Where(condition, args...)
}

// locking locks the rows of a query until the transaction ends.
func (s *session) locking(q *bun.SelectQuery) *bun.SelectQuery {
	if s.d.forUpdate == "" { // SQLite: the transaction locks the whole file
		return q
	}
	return q.For("UPDATE")
}

// claimDue locks due rows and calls postpone in the same transaction. postpone gets at least one row and makes the rows
// due later.
func claimDue[R any](
	ctx context.Context, s *session, action string, due func(db bun.IDB, rows *[]R) *bun.SelectQuery,
	postpone func(tx bun.Conn, rows []R) error,
) ([]R, error) {
	// Usually no row is due. This check takes no lock.
	anyDue, err := due(s.db, &[]R{}).Exists(ctx)
	if err != nil || !anyDue {
		return nil, wrap(action, err)
	}
	return inTx(ctx, s, action, func(tx bun.Conn) (rows []R, err error) {
		if err := s.locking(due(tx, &rows)).Scan(ctx); err != nil || len(rows) == 0 { // another node was faster
			return nil, err
		}
		return rows, postpone(tx, rows)
	})
}

// convert returns the results of fn for all rows.
func convert[R, T any](rows []R, fn func(r *R) T) []T {
	out := make([]T, len(rows))
	for i := range rows {
		out[i] = fn(&rows[i])
	}
	return out
}

// firstRow returns the first row of `found`. ErrNoRow: it is empty.
func firstRow[T any](action string, found []T, err error) (zero T, _ error) {
	if err == nil && len(found) == 0 {
		err = wrap(action, shop.ErrNoRow)
	}
	if err != nil {
		return zero, err
	}
	return found[0], nil
}

// trimPage limits a page that was read with one extra row, and reports whether more rows exist.
func trimPage[T any](page []T, size int) ([]T, bool) {
	if len(page) <= size {
		return page, false
	}
	return page[:size], true
}

// containing returns a pattern for LIKE … ESCAPE '!' that matches the text at any position. It escapes the wildcards.
func containing(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
}
