package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// RestoredSales keeps the sales that a restore of a backup paused.
type RestoredSales struct{ *session }

// Pause pauses all sales that are not over, until the gateway's lists are compared until now. It returns how many sales
// wait for that. A repeat waits until its own time.
func (s RestoredSales) Pause(ctx context.Context, now shop.Millis) (n int, err error) {
	const selling = "paused = 0 AND closes_at > ?"
	err = s.Catalogue().edit(ctx, "pause restored sales", func(tx bun.Conn) error {
		for _, step := range []struct {
			query string
			args  []any
		}{
			{"DELETE FROM restored_sales WHERE sale_id IN (SELECT id FROM sales WHERE " + selling + ")", []any{now}},
			{
				"INSERT INTO restored_sales (sale_id, version, resume_at) SELECT id, version + 1, ? FROM sales WHERE " + selling,
				[]any{now, now},
			},
			{"UPDATE sales SET paused = 1, version = version + 1 WHERE " + selling, []any{now}},
			{"UPDATE restored_sales SET resume_at = ?", []any{now}},
		} {
			if _, err := exec(ctx, tx, step.query, step.args...); err != nil {
				return err
			}
		}
		return tx.NewRaw("SELECT COUNT(*) FROM restored_sales").Scan(ctx, &n)
	})
	return n, err
}

// Resume continues the paused sales whose time has been reached by the comparison with the gateway's lists, unless an
// operator has changed them meanwhile. It returns their number. It waits until all partitions are inspected, see
// mayEdit.
func (s RestoredSales) Resume(ctx context.Context) (n int64, err error) {
	const reached = "resume_at <= (SELECT listed_until FROM history)"
	var waiting int
	err = s.db.NewRaw("SELECT COUNT(*) FROM restored_sales WHERE "+reached).Scan(ctx, &waiting)
	if err != nil || waiting == 0 {
		return 0, wrap("count restored sales", err)
	}
	err = s.Catalogue().edit(ctx, "resume restored sales", func(tx bun.Conn) error {
		if l, err := s.losses(ctx, tx); err != nil || l.unnoticed || len(l.closed) > 0 {
			return err
		}
		n, err = exec(ctx, tx, "UPDATE sales SET paused = 0, version = version + 1 WHERE paused = 1 AND EXISTS"+
			" (SELECT 1 FROM restored_sales AS r WHERE r.sale_id = sales.id AND r.version = sales.version AND "+reached+")")
		if err == nil {
			_, err = exec(ctx, tx, "DELETE FROM restored_sales WHERE "+reached)
		}
		return err
	})
	return n, err
}
