package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Clock is the instant by the database's clock, and which server says so.
func (s *Store) Clock(ctx context.Context) (shop.Instant, error) {
	now, err := s.clock(ctx, s.db)
	return now, wrap("read the database's clock", err)
}

func (s *Store) clock(ctx context.Context, db bun.IDB) (now shop.Instant, err error) {
	err = db.QueryRowContext(ctx, "SELECT "+s.d.now+", "+s.d.history).Scan(&now.At, &now.History)
	return now, err
}

// Changed answers each query with at most so many orders, in one statement for many users. The instant is read first,
// by the connection that reads the rows, so that both are of one server: a later commit has a stamp no older than it,
// except for the length of a transaction, which the caller's margin covers (F5, F6).
func (s *Store) Changed(
	ctx context.Context, queries []shop.ChangesQuery, most int,
) (changes []shop.Changes, now shop.Instant, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, now, wrap("read changed orders", err)
	}
	defer conn.Close()
	if now, err = s.clock(ctx, conn); err != nil {
		return nil, now, wrap("read the clock before changed orders", err)
	}
	for some := range slices.Chunk(queries, idsAtOnce) {
		rows, err := s.latest(ctx, conn, some, most+1)
		if err != nil {
			return nil, now, wrap("read changed orders", err)
		}
		archived, err := s.archivedSince(ctx, conn, some)
		if err != nil {
			return nil, now, wrap("look for archived orders that changed", err)
		}
		for _, q := range some {
			c := changesOf(rows[q.User], q.Since, most)
			at, found := archived[q.User]
			c.More = c.More || found && at >= q.Since
			changes = append(changes, c)
		}
	}
	return changes, now, nil
}

// archivedSince finds users with archived orders that changed since the earliest requested instant: they have to read
// all. It is read after the rows of orders, so that an order that moves between the two is found here.
func (s *Store) archivedSince(
	ctx context.Context, conn bun.Conn, queries []shop.ChangesQuery,
) (map[shop.ID]shop.Millis, error) {
	users, since := usersOf(queries)
	var rows []struct {
		User    shop.ID     `bun:"user_id"`
		Changed shop.Millis `bun:"changed"`
	}
	err := conn.NewSelect().Model((*orderRow)(nil)).ModelTableExpr(archivedOrders).ForceIndex("orders_key").
		Column("user_id").ColumnExpr("MAX("+s.d.changed+") AS changed").Where("user_id IN (?)", bun.List(users)).
		Where(s.d.changed+" >= ?", since).Group("user_id").Scan(ctx, &rows)
	changed := make(map[shop.ID]shop.Millis, len(rows))
	for _, r := range rows {
		changed[r.User] = r.Changed
	}
	return changed, err
}

// usersOf are the users of queries, and the earliest instant that one of them asks for.
func usersOf(queries []shop.ChangesQuery) (users []shop.ID, since shop.Millis) {
	users, since = make([]shop.ID, len(queries)), queries[0].Since
	for i, q := range queries {
		users[i], since = q.User, min(since, q.Since)
	}
	return users, since
}

// changedRow is an order with the instant of its stamp.
type changedRow struct {
	orderRow `bun:",extend"`

	Changed shop.Millis `bun:"changed,scanonly"`
}

// latest reads the newest changes of each user since the earliest requested instant, at most so many of each, so that a
// buyer with thousands of orders slows no other. They include all that a later instant asks for.
func (s *Store) latest(
	ctx context.Context, conn bun.Conn, queries []shop.ChangesQuery, most int,
) (map[shop.ID][]changedRow, error) {
	users, since := usersOf(queries)
	// Left alone, MySQL may read all orders there are instead of those of many users. SQLite does not see the hint.
	newest := conn.NewSelect().Model((*orderRow)(nil)).ForceIndex("orders_key").
		Column("id").ColumnExpr(s.d.changed+" AS changed").
		ColumnExpr("ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY changed_at DESC, id DESC) AS nth").
		Where("user_id IN (?)", bun.List(users)).Where(s.d.changed+" >= ?", since)
	var rows []changedRow
	err := conn.NewSelect().Model(&rows).ColumnExpr("?TableColumns").Column("newest.changed").
		Join("JOIN (?) AS newest USING (id)", newest).Where("nth <= ?", most).Scan(ctx)
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

// changesOf returns the result of one query from the user's rows, the newest first. A row that cannot be read is left
// to the list of all orders, which reports it to its buyer alone.
func changesOf(rows []changedRow, since shop.Millis, most int) shop.Changes {
	var c shop.Changes
	for i := range rows {
		if rows[i].Changed < since {
			break
		}
		if i == most {
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
