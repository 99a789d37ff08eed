package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/journal"
	"stampede/app/shop"
)

// EditTerms changes a sale that is at the version given, and raises it and that of the catalogue. change may refuse.
// Changed: it is at another version. ErrNoRow: there is no such sale. The version of the catalogue is raised first,
// which keeps editors one after the other; the statement compares the sale's own version too.
func (s *Store) EditTerms(
	ctx context.Context, id shop.ID, version int64, change func(s *shop.Sale) error,
) (before, after shop.Sale, err error) {
	err = s.edit(ctx, "edit sale "+id.String(), func(tx bun.Conn) error {
		var err error
		if _, before, err = readSale(ctx, tx, id); err != nil {
			return err
		}
		if before.Version != version {
			return journal.Changed("the sale", shop.TermsOf(&before))
		}
		after = before
		if err := change(&after); err != nil {
			return err
		}
		after.Version++
		return execMatching(ctx, tx, 1, "change a sale at its version",
			"UPDATE sales SET added = ?, opens_at = ?, closes_at = ?, paused = ?, challenge = ?, version = ?"+
				" WHERE id = ? AND version = ?",
			after.Added, after.OpensAt, after.ClosesAt, after.Paused, after.Challenge, after.Version, id, version)
	})
	return before, after, err
}
