package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app"
)

var _ app.MoveStore = (*Store)(nil)

// readPortions completes rows of spread sales with their portions, which are read by one statement: their units never
// miss those of a move. It answers which of the sales have a portion that was loaded. Other sales cost nothing.
func readPortions(ctx context.Context, db bun.IDB, rows []*saleColumns) (loaded map[app.ID]bool, err error) {
	spread := make(map[app.ID]*saleColumns)
	var ids []app.ID
	for _, r := range rows {
		if r.PortionOf != 0 && r.PortionOf == r.ID {
			spread[r.ID], ids = r, append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var found []struct {
		saleColumns
	}
	err = db.NewRaw("SELECT id, portion_of, part, initial, added, withdrawn, epoch FROM sales WHERE portion_of IN (?)"+
		" ORDER BY id", bun.List(ids)).Scan(ctx, &found)
	if err != nil {
		return nil, err
	}
	loaded = make(map[app.ID]bool)
	for i := range found {
		p := &found[i]
		r := spread[p.PortionOf]
		r.portions = append(r.portions, app.Portion{
			SaleRef: app.SaleRef{ID: p.ID, Partition: p.Partition},
			Initial: p.Initial, Added: p.Added, Withdrawn: p.Withdrawn,
		})
		loaded[r.ID] = loaded[r.ID] || p.Epoch != 0
	}
	return loaded, nil
}

// rowsOf are the rows of the portions of a sale, or the sale itself, in the order of their ids: the sale is the first.
func rowsOf(ctx context.Context, db bun.IDB, sale app.ID) ([]app.ID, error) {
	var ids []app.ID
	err := db.NewRaw("SELECT id FROM sales WHERE portion_of = ? ORDER BY id", sale).Scan(ctx, &ids)
	if len(ids) == 0 {
		ids = []app.ID{sale}
	}
	return ids, err
}

// rowsOf is the function of that name for a sale that somebody looks for; none for 0.
func (s *Store) rowsOf(ctx context.Context, sale app.ID) ([]app.ID, error) {
	if sale == 0 {
		return nil, nil
	}
	ids, err := rowsOf(ctx, s.db, sale)
	return ids, wrap("read the portions of sale "+sale.String(), err)
}

// spread adds the rows of further portions behind those of sales that are written, and what their moves are kept in.
func (s *Store) spread(
	ctx context.Context, tx bun.Conn, sales []app.Sale, rows []newSale, partitions int64,
) ([]newSale, error) {
	for i := range sales {
		portions := sales[i].Portions
		if len(portions) < 2 {
			continue
		}
		first := rows[i]
		for n, p := range portions {
			unordered := n == 0 && p.ID != first.ID || n > 0 && p.ID <= portions[n-1].ID
			if unordered || partitions > 0 && int64(p.Partition) >= partitions {
				return nil, app.Fail(app.BadRequest, fmt.Sprintf("sale %s cannot be spread like that", first.ID))
			}
			row := first
			row.ID, row.Partition, row.Initial = p.ID, p.Partition, p.Initial
			if n == 0 {
				rows[i] = row
				continue
			}
			row.Slot = p.ID // no slot has this id
			rows = append(rows, row)
		}
		_, err := exec(ctx, tx, "INSERT INTO portion_moves (sale_id, state) VALUES (?, ?)", first.ID, app.MoveDone)
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// dealAnew is what of an edited sale's stock each of its rows has: what it had, unless the stock has changed.
func dealAnew(ctx context.Context, tx bun.Conn, r *app.SaleRecord, rows []app.ID) ([]int64, error) {
	var now []int64
	err := tx.NewRaw("SELECT initial FROM sales WHERE id IN (?) ORDER BY id", bun.List(rows)).Scan(ctx, &now)
	if err != nil {
		return nil, err
	}
	var sum int64
	for _, n := range now {
		sum += n
	}
	if len(now) != len(rows) || sum != r.Initial {
		return app.Deal(r.Initial, len(rows)), nil
	}
	return now, nil
}
