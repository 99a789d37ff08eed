//go:build crashpoints

package crash

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// collect reads the final state from tables and keys, without the program's own readers. Its reads are not one
// snapshot; at rest that makes no difference.
func (w *world) collect(ctx context.Context) (f Final, err error) {
	if f.Rows, err = w.readRows(ctx); err != nil {
		return f, fmt.Errorf("read rows: %w", err)
	}
	for i := range w.sales {
		s, err := w.readSale(ctx, &w.sales[i])
		if err != nil {
			return f, fmt.Errorf("read sale %s: %w", w.sales[i].ID, err)
		}
		f.Sales = append(f.Sales, s)
	}
	for p := range partitions {
		if err := w.readPartition(ctx, p, &f); err != nil {
			return f, fmt.Errorf("read partition %d: %w", p, err)
		}
	}
	return f, nil
}

func (w *world) readRows(ctx context.Context) ([]Row, error) {
	rows, err := w.db.QueryContext(ctx, `SELECT id, sale_id, user_id, COALESCE(idem_key, ''), qty, state, reason, ticket, rev,
		pay_by, cancelled_at FROM orders ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []Row
	for rows.Next() {
		var r Row
		if err := rows.Scan(&r.ID, &r.Sale, &r.User, &r.Key, &r.Qty, &r.State, &r.Reason, &r.Ticket, &r.Rev, &r.PayBy,
			&r.Ended); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

func (w *world) readSale(ctx context.Context, sale *shop.Sale) (Sale, error) {
	s := Sale{ID: sale.ID, Limit: int64(sale.Limit)}
	d := &s.Database
	err := w.db.QueryRowContext(ctx, `SELECT initial, added, initial + added - withdrawn - taken,
		withdrawn + COALESCE(SUM(IF(state = 'refunded' AND cancelled_at = 0, qty, 0)), 0),
		COALESCE(SUM(IF(state = 'pending', qty, 0)), 0),
		COALESCE(SUM(IF(state IN ('paid', 'refunding') AND cancelled_at = 0, qty, 0)), 0)
		FROM sales s LEFT JOIN orders o ON o.sale_id = s.id WHERE s.id = ? GROUP BY s.id`, sale.ID).
		Scan(&d.Initial, &d.Added, &d.Stock, &d.Withdrawn, &d.Held, &d.Sold)
	if err != nil {
		return s, err
	}
	hash, err := w.redis.HGetAll(ctx, kit.SaleKey(sale)).Result()
	if err != nil {
		return s, err
	}
	n := func(field string) int64 { return number(hash[field]) }
	s.Redis = Side{n("initial"), n("added"), n("stock"), n("held"), n("sold"), n("withdrawn")}
	s.Burnt, s.Tickets, s.Done = n("burnt"), n("tickets"), n("done")
	open, err := w.redis.HGetAll(ctx, kit.SaleKey(sale)+":open").Result()
	if err != nil {
		return s, err
	}
	for order, hold := range open { // hold number:qty, with the suffix :sold for sold units
		part := strings.Split(hold, ":")
		if len(part) < 2 {
			return s, fmt.Errorf("hold of order %[2]s is %[1]q, want number:qty", hold, order)
		}
		s.Holds = append(s.Holds, Hold{
			Order: shop.ID(number(order)), Qty: number(part[1]),
		})
	}
	buyers, err := w.redis.HGetAll(ctx, kit.SaleKey(sale)+":buyers").Result()
	for user, value := range buyers { // units|records
		units, _, _ := strings.Cut(value, "|")
		s.Units = append(s.Units, Units{User: shop.ID(number(user)), Qty: number(units)})
	}
	return s, err
}

func (w *world) readPartition(ctx context.Context, p int, f *Final) error {
	letters, err := w.redis.XLen(ctx, fmt.Sprintf("stampede:{%d}:dead", p)).Result()
	if err != nil {
		return err
	}
	f.DeadLetters += letters
	group, err := w.group(ctx, p)
	if err != nil {
		return err
	}
	f.Groups = append(f.Groups, Group{Partition: p, Lag: group.Lag, Pending: group.Pending})
	return nil
}

// group returns the reply of XINFO GROUPS for the stream of a partition.
func (w *world) group(ctx context.Context, partition int) (redis.XInfoGroup, error) {
	groups, err := w.redis.XInfoGroups(ctx, fmt.Sprintf("stampede:{%d}:orders", partition)).Result()
	if err != nil {
		return redis.XInfoGroup{}, err
	}
	if len(groups) != 1 || groups[0].Name != "fulfil" {
		return redis.XInfoGroup{}, fmt.Errorf("got groups %v, want only fulfil", groups)
	}
	return groups[0], nil
}

// xinfoDifference returns the difference between XINFO GROUPS and the stream (P7): lag and pending must equal the
// counted entries. It returns "" if they agree.
func (w *world) xinfoDifference(ctx context.Context, partition int) (difference string, err error) {
	key := fmt.Sprintf("stampede:{%d}:orders", partition)
	g, err := w.group(ctx, partition)
	if err != nil {
		return "", err
	}
	waiting, err := w.redis.XRange(ctx, key, "("+g.LastDeliveredID, "+").Result()
	if err != nil {
		return "", err
	}
	pending, err := w.redis.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: key, Group: g.Name, Start: "-", End: "+", Count: 100_000,
	}).Result()
	if err != nil {
		return "", err
	}
	if g.Lag != int64(len(waiting)) || g.Pending != int64(len(pending)) {
		return fmt.Sprintf("partition %d: lag %d and pending %d, counted %d and %d", partition, g.Lag, g.Pending,
			len(waiting), len(pending)), nil
	}
	return "", nil
}

// number parses a decimal field of a stream entry or a hash. It returns −1, which is never valid, for other values.
func number(v any) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
