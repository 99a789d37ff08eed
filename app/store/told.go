package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app"
)

// MarkTold notes that the events are in their buyers' logs, with one statement per revision. A row that has
// moved on stays untold for its newer state; one that is told already is left alone.
func (s *Store) MarkTold(ctx context.Context, told []app.OrderEvent) error {
	byRev := make(map[int][]app.ID, 4)
	for i := range told {
		o := told[i].Order
		byRev[o.Rev] = append(byRev[o.Rev], o.ID)
	}
	for rev, ids := range byRev {
		slices.Sort(ids) // locks are taken in the order of ids
		for some := range slices.Chunk(ids, idsAtOnce) {
			err := s.inTx(ctx, "mark orders told", func(tx bun.Conn) error {
				_, err := exec(ctx, tx, "UPDATE orders SET told_rev = ?, untold_since = CASE WHEN rev > ? THEN untold_since END"+
					" WHERE id IN (?) AND told_rev < ?", rev, rev, bun.List(some), rev)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
