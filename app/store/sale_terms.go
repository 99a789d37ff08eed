package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// EditTerms changes what operators may change while people buy. The version of the catalogue is raised first, which
// keeps editors one after the other; the statement looks at the sale's own all the same. The portions
// of a spread sale change together, and units that are added are dealt out to them. See app.SaleEditor.
func (s *Store) EditTerms(
	ctx context.Context, id app.ID, version int64, change func(s *app.Sale) error,
) (before, after app.Sale, err error) {
	err = s.edit(ctx, "edit sale "+id.String(), func(tx bun.Conn) error {
		rows, images, err := readSales(ctx, tx, func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("s.id = ? AND s.portion_of IN (0, s.id)", id)
		})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return app.ErrNoRow
		}
		own := rows[0].sale(images)
		before = own.Whole()
		if before.Version != version {
			return app.Changed("the sale", app.TermsOf(&before))
		}
		after = before
		if err := change(&after); err != nil {
			return err
		}
		after.Version++
		refs := own.Refs()
		for i, more := range app.Deal(after.Added-before.Added, len(refs)) {
			err := execMatching(ctx, tx, 1, "change a sale at its version",
				"UPDATE sales SET added = added + ?, opens_at = ?, closes_at = ?, paused = ?, challenge = ?, version = ?"+
					" WHERE id = ? AND version = ?",
				more, after.OpensAt, after.ClosesAt, after.Paused, after.Challenge, after.Version, refs[i].ID, version)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return before, after, err
}
