package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// MarkTold notes that the rows were published, with one statement per revision. A row that has moved on stays untold
// for its newer state; one that is told already is left alone.
func (s *Store) MarkTold(ctx context.Context, told []*shop.Order) error {
	byRev := make(map[int][]shop.ID, 4)
	for _, o := range told {
		byRev[o.Rev] = append(byRev[o.Rev], o.ID)
	}
	for rev, ids := range byRev {
		for some := range inOrder(ids) {
			if err := s.markTold(ctx, rev, some); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) markTold(ctx context.Context, rev int, orders []shop.ID) error {
	return s.inTx(ctx, "mark orders told", func(tx bun.Conn) error {
		const set = " SET published_rev = ?, unpublished_since = CASE WHEN rev > ? THEN unpublished_since END, " + unstamped +
			" WHERE id IN (?) AND published_rev < ?"
		matched, err := exec(ctx, tx, "UPDATE orders"+set, rev, rev, bun.List(orders), rev)
		if err == nil && matched < int64(len(orders)) { // some were told already, or are in the archive
			_, err = exec(ctx, tx, "UPDATE orders_archive"+set, rev, rev, bun.List(orders), rev)
		}
		return err
	})
}

// ToldUntil reads until when the new rows of a partition have been published. ErrNoRow if there is no such partition.
func (s *Store) ToldUntil(ctx context.Context, partition int) (at shop.Millis, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT published_until FROM partitions WHERE id = ?", partition).Scan(&at)
	return at, wrap(fmt.Sprintf("read until when partition %d was told", partition), err)
}

// SetToldUntil moves that instant forward. ErrNoRow if there is no such partition.
func (s *Store) SetToldUntil(ctx context.Context, partition int, at shop.Millis) error {
	return s.changeRow(ctx, fmt.Sprintf("note until when partition %d was told", partition),
		"UPDATE partitions SET published_until = "+s.d.greatest+"(published_until, ?) WHERE id = ?", at, partition)
}
