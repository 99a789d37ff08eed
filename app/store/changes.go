package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Changes reads the orders that changed since an instant (F5, F6).
type Changes struct{ *session }

// Clock returns the instant by the database's clock, and the history of the server.
func (s *session) Clock(ctx context.Context) (shop.Instant, error) {
	now, err := s.clock(ctx, s.db)
	return now, wrap("read the database's clock", err)
}

func (s *session) clock(ctx context.Context, db bun.IDB) (now shop.Instant, err error) {
	err = db.QueryRowContext(ctx, "SELECT "+s.d.now+", "+s.d.history).Scan(&now.At, &now.History)
	return now, err
}

// Changed returns at most limit orders for each query, in one statement for many users. It reads the instant first, on
// the connection that reads the rows, so that both are from one server. The changed_at of a later commit is at or after
// this instant, or at most the length of a transaction before it. The caller's margin covers this length (F5, F6).
func (s Changes) Changed(
	ctx context.Context, queries []shop.ChangesQuery, limit int,
) (changes []shop.Changes, now shop.Instant, err error) {
	conn, err := s.conns.Conn(ctx)
	if err != nil {
		return nil, now, wrap("read changed orders", err)
	}
	defer conn.Close()
	if now, err = s.clock(ctx, conn); err != nil {
		return nil, now, wrap("read the clock before changed orders", err)
	}
	for chunk := range slices.Chunk(queries, idsAtOnce) {
		rows, err := s.latest(ctx, conn, chunk, limit+1)
		if err != nil {
			return nil, now, wrap("read changed orders", err)
		}
		for _, q := range chunk {
			changes = append(changes, changesOf(rows[q.User], q.Since, limit))
		}
	}
	return changes, now, nil
}

// usersOf returns the users of the queries and the earliest instant of all queries.
func usersOf(queries []shop.ChangesQuery) (users []shop.ID, since shop.Millis) {
	users, since = make([]shop.ID, len(queries)), queries[0].Since
	for i, q := range queries {
		users[i], since = q.User, min(since, q.Since)
	}
	return users, since
}

// changedRow is an order with its changed_at.
type changedRow struct {
	orderRow `bun:",extend"`

	Changed shop.Millis `bun:"changed,scanonly"`
}

// latest reads the newest changes of each user since the earliest requested instant. It reads at most limit rows per
// user, so that a buyer with thousands of orders does not delay other buyers. The result includes the changes since
// every later instant.
func (s Changes) latest(
	ctx context.Context, conn bun.Conn, queries []shop.ChangesQuery, limit int,
) (map[shop.ID][]changedRow, error) {
	users, since := usersOf(queries)
	// Without the hint MySQL may read all orders instead of those of the users. SQLite ignores the hint.
	newest := conn.NewSelect().Model((*orderRow)(nil)).ForceIndex("orders_key").
		Column("id").ColumnExpr(s.d.changed+" AS changed").
		ColumnExpr("ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY changed_at DESC, id DESC) AS nth").
		Where("user_id IN (?)", bun.List(users)).Where(s.d.changed+" >= ?", since)
	var rows []changedRow
	err := conn.NewSelect().Model(&rows).ColumnExpr("?TableColumns").Column("newest.changed").
		Join("JOIN (?) AS newest USING (id)", newest).Where("nth <= ?", limit).Scan(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b changedRow) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), cmp.Compare(b.ID, a.ID))
	})
	byUser := make(map[shop.ID][]changedRow, len(users))
	for i := range rows {
		byUser[rows[i].User] = append(byUser[rows[i].User], rows[i])
	}
	return byUser, nil
}

// changesOf returns the result of one query from the user's rows, the newest first. It skips a row that cannot be
// decoded and sets More: the list of all orders then returns an error, but only to the buyer of this row.
func changesOf(rows []changedRow, since shop.Millis, limit int) shop.Changes {
	var c shop.Changes
	for i := range rows {
		if rows[i].Changed < since {
			break
		}
		if i == limit {
			c.More = true
			break
		}
		o, err := rows[i].order()
		if err != nil {
			c.More = true
			continue
		}
		c.Orders = append(c.Orders, o)
	}
	slices.Reverse(c.Orders)
	return c
}

// keepChangedAt is part of every UPDATE that does not set a new state. It keeps changed_at, because the buyer sees no
// change.
const keepChangedAt = "changed_at = changed_at"

// Touch sets changed_at of the rows to now, and returns the rows. Nodes that missed the events then find the rows. It
// locks the rows first: if it waits for another change, the new changed_at is not older than the changed_at of that
// change.
func (s Orders) Touch(ctx context.Context, ids []shop.ID) ([]shop.Order, error) {
	out := make([]shop.Order, 0, len(ids))
	for chunk := range sortedChunks(ids) {
		rows, err := inTx(ctx, s.session, "touch orders", func(tx bun.Conn) ([]shop.Order, error) {
			rows, err := s.lockOrders(ctx, tx, chunk)
			if err != nil || len(rows) == 0 {
				return nil, err
			}
			// Only the locked rows: others of the chunk may be inserted meanwhile.
			return rows, execMatching(ctx, tx, len(rows), "touch locked orders",
				"UPDATE orders SET "+s.d.touch+" WHERE id IN (?)", bun.List(orderIDs(rows)))
		})
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].Touched = true
		}
		out = append(out, rows...)
	}
	return out, nil
}

// TouchSince sets changed_at to now in the given orders that changed at or after the given instant.
func (s Orders) TouchSince(ctx context.Context, ids []shop.ID, since shop.Millis) error {
	for chunk := range sortedChunks(ids) {
		_, err := s.run(ctx, "touch recently changed orders",
			"UPDATE orders SET "+s.d.touch+" WHERE id IN (?) AND "+s.d.changed+" >= ?", bun.List(chunk), since)
		if err != nil {
			return err
		}
	}
	return nil
}

// MarkPublished marks the rows as published, with one statement per revision. A row with a newer state stays
// unpublished. A row that is already marked does not change.
func (s Orders) MarkPublished(ctx context.Context, published []*shop.Order) error {
	byRev := make(map[int][]shop.ID, 4)
	for _, o := range published {
		byRev[o.Rev] = append(byRev[o.Rev], o.ID)
	}
	for rev, ids := range byRev {
		for chunk := range sortedChunks(ids) {
			if err := s.markPublished(ctx, rev, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Orders) markPublished(ctx context.Context, rev int, orders []shop.ID) error {
	_, err := s.run(ctx, "mark orders published",
		"UPDATE orders SET published_rev = ?, unpublished_since = CASE WHEN rev > ? THEN unpublished_since END, "+
			keepChangedAt+" WHERE id IN (?) AND published_rev < ?", rev, rev, bun.List(orders), rev)
	return err
}

// PublishedUntil reads the publish mark of a partition: the new rows with an earlier changed_at have been published.
// ErrNoRow: no such partition.
func (s Partitions) PublishedUntil(ctx context.Context, partition int) (at shop.Millis, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT published_until FROM partitions WHERE id = ?", partition).Scan(&at)
	return at, wrap(fmt.Sprintf("read the publish mark of partition %d", partition), err)
}

// SetPublishedUntil raises the publish mark; it never lowers it. ErrNoRow: no such partition.
func (s Partitions) SetPublishedUntil(ctx context.Context, partition int, at shop.Millis) error {
	return s.changeRow(ctx, fmt.Sprintf("advance the publish mark of partition %d", partition),
		"UPDATE partitions SET published_until = "+s.d.greatest+"(published_until, ?) WHERE id = ?", at, partition)
}
