package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Order reads one row. ErrNoRow if there is none.
func (s *Store) Order(ctx context.Context, id shop.ID) (shop.Order, error) {
	found, err := s.OrdersByID(ctx, []shop.ID{id})
	return only("read order "+id.String(), found, err)
}

// OrdersByID reads the rows that exist, each once.
func (s *Store) OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error) {
	out := make([]shop.Order, 0, len(ids))
	for some := range inOrder(ids) {
		rows, err := s.readOrders(ctx, "read orders by id", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("id IN (?)", bun.List(some)).Order("id")
		})
		if err == nil {
			rows, err = s.withArchived(ctx, "read orders by id", rows, some)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// OrdersOf pages through a user's orders, newest first; more reports whether older ones exist.
func (s *Store) OrdersOf(ctx context.Context, q shop.OrdersQuery) (page []shop.Order, more bool, err error) {
	page, err = s.readBoth(ctx, "read orders of user "+q.User.String(), "id DESC", q.Limit+1,
		func(sel *bun.SelectQuery, table string) *bun.SelectQuery { return s.ordersOf(sel, table, q) })
	page, more = cut(page, q.Limit)
	return page, more, err
}

// ordersOf is one table's part of a user's page. The ids come from the index alone, and only the page's rows are read.
// The index of orders is not in the order of ids: left alone, MySQL may walk backwards through all orders. SQLite does
// not see the hint; it has an index in that order.
func (s *Store) ordersOf(sel *bun.SelectQuery, table string, q shop.OrdersQuery) *bun.SelectQuery {
	ids := s.db.NewSelect().Model((*orderRow)(nil)).ModelTableExpr(table).Column("id").ForceIndex("orders_key").
		Where("user_id = ?", q.User).Order("id DESC").Limit(int64(q.Limit) + 1)
	ids = whereSet(whereSet(ids, "sale_id = ?", q.Sale), "id < ?", q.Before)
	return sel.Join("JOIN (?) AS page USING (id)", ids)
}

// OrdersOfSale walks through all orders of a sale in the order of their ids, after the id given.
func (s *Store) OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error) {
	return s.readBoth(ctx, "read orders of sale "+sale.String(), "id", limit,
		func(q *bun.SelectQuery, _ string) *bun.SelectQuery {
			// Left alone, MySQL reads each page from the beginning of the sale. SQLite does not see the hint.
			return q.ForceIndex("orders_sale").Where("sale_id = ?", sale).Where("id > ?", after).Order("id").
				Limit(int64(limit))
		})
}

// Untold lists orders whose newest state was not published yet, the oldest first: also archived ones whose late money
// is being refunded. before is compared with the wall clock of the process that wrote the row.
func (s *Store) Untold(ctx context.Context, before shop.Millis, limit int, but ...int) ([]shop.Order, error) {
	return s.readBoth(ctx, "read untold orders", "unpublished_since", limit,
		func(q *bun.SelectQuery, _ string) *bun.SelectQuery {
			return outside(but, q).Where("unpublished_since < ?", before).Order("unpublished_since").Limit(int64(limit))
		})
}

// Overdue lists pending orders with pay_by before the instant given: first those that can end by themselves, of each
// kind the oldest first. However many wait for a payment gateway that does not answer, they hide none of the others.
func (s *Store) Overdue(ctx context.Context, before shop.Millis, limit int, but ...int) ([]shop.Order, error) {
	return s.readOrders(ctx, "read overdue orders", func(q *bun.SelectQuery) *bun.SelectQuery {
		// The state is written out so that SQLite can use its partial index.
		return outside(but, q).Where("state = 'pending'").Where("pay_by < ?", before).
			OrderExpr("CASE WHEN trade_opened = 0 THEN 0 ELSE 1 END, pay_by").Limit(int64(limit))
	})
}

// outside narrows a query to orders that are in none of these partitions.
func outside(partitions []int, q *bun.SelectQuery) *bun.SelectQuery {
	if len(partitions) == 0 {
		return q
	}
	return q.Where("part NOT IN (?)", bun.List(partitions))
}

func (s *Store) readOrders(ctx context.Context, what string, narrow selection) ([]shop.Order, error) {
	var rows []orderRow
	if err := narrow(s.db.NewSelect().Model(&rows)).Scan(ctx); err != nil {
		return nil, wrap(what, err)
	}
	return orders(rows)
}
