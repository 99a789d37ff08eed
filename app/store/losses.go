package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// losses describes which commits the database may have lost.
type losses struct {
	doubtUntil shop.Millis
	// unnoticed: no node has checked the history of this server, or not for maxBeatAge.
	unnoticed bool
	// closed has the partitions that were not inspected since another history of the database began.
	closed map[int]bool
}

func (s *session) losses(ctx context.Context, tx bun.IDB) (losses, error) {
	l := losses{closed: make(map[int]bool)}
	rows, err := tx.QueryContext(ctx, "SELECT doubt_until, "+s.unnoticed()+", COALESCE(p.id, -1) FROM history AS h"+
		" LEFT JOIN partitions AS p ON p.generation < h.generation")
	if err != nil {
		return l, err
	}
	defer rows.Close()
	for rows.Next() {
		var closed int
		if err := rows.Scan(&l.doubtUntil, &l.unnoticed, &closed); err != nil {
			return l, err
		}
		if closed >= 0 { // -1: every partition was inspected
			l.closed[closed] = true
		}
	}
	return l, rows.Err()
}

// of returns ErrTransient if facts of the partition may be lost and a recovery may still find them.
func (l *losses) of(partition int) error {
	switch {
	case l.unnoticed:
		return fmt.Errorf("%w: no node has checked the history of this database server for %v", shop.ErrTransient, maxBeatAge)
	case l.closed[partition]:
		return fmt.Errorf("%w: partition %d was not inspected since another history of the database began",
			shop.ErrTransient, partition)
	}
	return nil
}

// unnoticed is a condition on the history: commits may have been lost, and no node has noticed that yet.
func (s *session) unnoticed() string { return "(" + s.gap() + " OR server <> " + s.d.server + ")" }

// changeable is a condition on a row with an order_id, as SQL: the order may change now, see mayChange.
func (s *session) changeable() string {
	return "NOT EXISTS (SELECT 1 FROM history WHERE " + s.unnoticed() + ") AND NOT EXISTS (SELECT 1 FROM history AS h" +
		" JOIN partitions AS p ON p.generation < h.generation JOIN orders AS o ON o.part = p.id WHERE o.id = order_id)"
}

// mayChange sets InDoubt of locked orders. ErrTransient: commits about them may have been lost, see losses. A recovery
// changes them nevertheless.
func (s Orders) mayChange(ctx context.Context, tx bun.Conn, all []shop.Order) error {
	if len(all) == 0 {
		return nil
	}
	l, err := s.losses(ctx, tx)
	if err != nil {
		return err
	}
	for i := range all {
		o := &all[i]
		o.InDoubt = o.State == shop.Pending && o.CreatedAt <= l.doubtUntil ||
			o.State == shop.Paid && o.PaidAt <= l.doubtUntil
		if s.recovers {
			continue
		}
		if err := l.of(o.Partition); err != nil {
			return err
		}
	}
	return nil
}

// mayEdit returns ErrTransient if commits about sales of the partitions may have been lost: Redis may have later terms,
// and an edit would give their version to other terms. A recovery imports them first.
func (s Sales) mayEdit(ctx context.Context, tx bun.Conn, partitions ...int) error {
	l, err := s.losses(ctx, tx)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		if err := l.of(p); err != nil {
			return err
		}
	}
	return nil
}
