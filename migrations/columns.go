package migrations

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/migrate"
)

// column is a column that a later version adds to a table of an earlier one. It is a migration in Go, because not every
// store has ALTER TABLE … ADD COLUMN IF NOT EXISTS, and every statement must be repeatable.
type column struct {
	number, comment   string // of the migration
	table, name, spec string
}

var columns = []column{
	// 1: an order needs a delivery address before payment. Products of an earlier version keep 0 until an operator
	// changes them, because its clients may not request addresses.
	{"0009", "ships", "products", "ships", "INT NOT NULL DEFAULT 0"},
	// Unix ms: the beginning of the row's first state; 0: the row is older than the column, or a recovery wrote it.
	{"0012", "inserted", "orders", "inserted_at", "BIGINT NOT NULL DEFAULT 0"},
	{"0013", "inserted_archive", "orders_archive", "inserted_at", "BIGINT NOT NULL DEFAULT 0"},
}

// migration adds the column, unless it exists. Down removes it, if it exists.
func (c column) migration() migrate.Migration {
	alter := func(exists bool, change string) func(context.Context, *migrate.Migrator, *migrate.Migration) error {
		return func(ctx context.Context, m *migrate.Migrator, _ *migrate.Migration) error {
			found, err := c.exists(ctx, m.DB())
			if err != nil || found != exists {
				return err
			}
			if m.DB().Dialect().Name() == dialect.SQLite { // a strict table has no BIGINT; its integers have 64 bits
				change = strings.Replace(change, "BIGINT", "INTEGER", 1)
			}
			if _, err := m.DB().ExecContext(ctx, "ALTER TABLE "+c.table+" "+change); err != nil {
				return fmt.Errorf("alter table %s, %s: %w", c.table, change, err)
			}
			return nil
		}
	}
	return migrate.Migration{
		Name: c.number, Comment: c.comment,
		Up:   alter(false, "ADD COLUMN "+c.name+" "+c.spec),
		Down: alter(true, "DROP COLUMN "+c.name),
	}
}

// exists reports whether the table has the column.
func (c column) exists(ctx context.Context, db *bun.DB) (bool, error) {
	query := "SELECT COUNT(*) FROM information_schema.columns" +
		" WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?"
	if db.Dialect().Name() == dialect.SQLite {
		query = "SELECT COUNT(*) FROM pragma_table_info(?) WHERE name = ?"
	}
	var n int
	if err := db.QueryRowContext(ctx, query, c.table, c.name).Scan(&n); err != nil {
		return false, fmt.Errorf("find column %s of %s: %w", c.name, c.table, err)
	}
	return n > 0, nil
}
