package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"stampede/app"
	"stampede/app/snowflake"
)

// monthRow is a month of the archive. On MySQL it is a partition; its ids are below end, and no lower than the end of
// the month before it in the list.
type monthRow struct {
	month app.Month
	end   app.ID
	bytes int64 // on disk, about; 0: not known
}

// months lists the partitions, the oldest first; on SQLite the months that the table's ids span.
func (s *Store) months(ctx context.Context, db bun.IDB) ([]monthRow, error) {
	if s.writer != nil {
		return spannedMonths(ctx, db)
	}
	var rows []struct {
		Name  string `bun:"name"`
		End   string `bun:"ends"`
		Bytes int64  `bun:"bytes"`
	}
	err := db.NewRaw("SELECT PARTITION_NAME AS name, PARTITION_DESCRIPTION AS ends, DATA_LENGTH + INDEX_LENGTH AS bytes"+
		" FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders_archive'"+
		" ORDER BY PARTITION_ORDINAL_POSITION").Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	out := make([]monthRow, 0, len(rows))
	for _, r := range rows {
		number, err := strconv.Atoi(strings.TrimPrefix(r.Name, "p"))
		end, endErr := strconv.ParseInt(r.End, 10, 64)
		if err = errors.Join(err, endErr); err != nil {
			return nil, fmt.Errorf("%w: partition %s of orders_archive: %w", app.ErrPermanent, r.Name, err)
		}
		if number > 0 { // p000000 stands there only because a table must have one
			out = append(out, monthRow{app.Month(number), app.ID(end), r.Bytes})
		}
	}
	return out, nil
}

func spannedMonths(ctx context.Context, db bun.IDB) ([]monthRow, error) {
	var first, last sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT MIN(id), MAX(id) FROM orders_archive").Scan(&first, &last)
	if err != nil || !first.Valid {
		return nil, err
	}
	var out []monthRow
	end := app.MonthOf(snowflake.Time(app.ID(last.Int64)))
	for m := app.MonthOf(snowflake.Time(app.ID(first.Int64))); m <= end; m = m.Next() {
		out = append(out, monthRow{month: m, end: snowflake.First(m.Next().Start())})
	}
	return out, nil
}

// monthTries bounds MakeMonths: somebody else, or an ALTER of ours whose answer nobody waited for, adds partitions too.
const monthTries = 3

// MakeMonths adds partitions. Nobody waits long for this, and nothing is copied: they are empty and at the end. See
// app.ArchiveStore.
func (s *Store) MakeMonths(ctx context.Context, until app.Millis) (made []app.Month, err error) {
	if s.writer != nil {
		return nil, nil
	}
	for range monthTries {
		made, err = s.addMonths(ctx, until)
		if !saysMySQL(err, mysqlSamePartition, mysqlNotIncreasing) {
			break
		}
	}
	return made, err
}

// addMonths adds those that are lacking behind the last one.
func (s *Store) addMonths(ctx context.Context, until app.Millis) (made []app.Month, err error) {
	known, err := s.months(ctx, s.db)
	if err != nil {
		return nil, wrap("list the months of the archive", err)
	}
	var oldest, newest sql.NullInt64
	err = s.db.QueryRowContext(ctx, "SELECT MIN(id), MAX(id) FROM orders").Scan(&oldest, &newest)
	if err != nil {
		return nil, wrap("look for the oldest and the newest order", err)
	}
	next := app.MonthOf(snowflake.Time(app.ID(oldest.Int64)))
	if len(known) > 0 {
		next = known[len(known)-1].month.Next()
	}
	// Clocks that were wrong once have made ids of later times: these have a place, too.
	last := max(app.MonthOf(until), app.MonthOf(snowflake.Time(app.ID(newest.Int64))))
	var parts []string
	for ; next <= last; next = next.Next() {
		made = append(made, next)
		parts = append(parts, fmt.Sprintf("PARTITION p%06d VALUES LESS THAN (%d)", int(next),
			int64(snowflake.First(next.Next().Start()))))
	}
	if len(parts) == 0 {
		return nil, nil
	}
	if err := s.alter(ctx, "ALTER TABLE orders_archive ADD PARTITION ("+strings.Join(parts, ", ")+")"); err != nil {
		return nil, wrap("make months of the archive", err)
	}
	return made, nil
}

// alter changes the archive's partitions. It waits two seconds for whoever is reading them, and whoever comes meanwhile
// waits behind it; then it gives up.
func (s *Store) alter(ctx context.Context, statement string) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	// The session has its own lock_wait_timeout, so the connection is closed instead of returned to the pool.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	if _, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = 2"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, statement)
	return err
}
