package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"stampede/migrations/sqllock"
)

// scratch begins the name of the table that Needs makes and drops, and is that of its row.
const scratch = "stampede_checkconfig"

// Need is something that the program does on a database, tried out.
type Need struct {
	What    string // e.g. "take locks by name"
	Err     error  // nil: it works
	Migrate bool   // only migrations need it
}

// Needs tries on MySQL or MariaDB what the program does: locks by name, one server, its statements and those of
// migrations. It leaves nothing behind, and trusts neither settings nor versions.
func (s *Store) Needs(ctx context.Context) []Need {
	if s.writer != nil {
		return nil
	}
	lock := sqllock.Lock{Name: "stampede:checkconfig", Wait: 5 * time.Second, Silence: 10 * time.Second}
	var needs []Need
	try := func(what string, migrate bool, err error) {
		needs = append(needs, Need{What: what, Err: wrap(what, err), Migrate: migrate})
	}
	try("take locks by name", false, lock.Hold(ctx, s.db, func(context.Context) error { return nil }))
	try("reach one server with all connections", false, s.oneServer(ctx))
	own := scratch + "_" + strings.ToLower(rand.Text()[:10])
	made := s.define(ctx, "CREATE TABLE "+own+" (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(255) NULL)"+
		" ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin")
	try("make tables (CREATE)", true, made)
	table := "settings" // which is there once the schema is
	if made == nil {
		table = own
		try("change tables (ALTER)", true, s.define(ctx, "ALTER TABLE "+own+" ALTER COLUMN value SET DEFAULT ''"))
		try("make indexes (INDEX)", true, s.define(ctx, "CREATE INDEX scratch_value ON "+own+" (value)"))
	}
	try("read and write rows (SELECT, INSERT, UPDATE, DELETE)", false, s.tryRows(ctx, table))
	try("read one instant of all rows", false, s.inSnapshot(ctx, "", func(tx bun.Tx) error {
		var n int64
		return tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n)
	}))
	if made == nil {
		try("drop tables (DROP)", true, s.define(ctx, "DROP TABLE "+own))
	}
	return needs
}

func (s *Store) define(ctx context.Context, statement string) error {
	_, err := s.db.ExecContext(ctx, statement)
	return err
}

// errUndo ends the transaction of a trial.
var errUndo = errors.New("nothing of a trial stays")

// tryRows does in one transaction what those of the program do, and undoes it.
func (s *Store) tryRows(ctx context.Context, table string) error {
	err := s.tryTx(ctx, func(tx bun.Conn) error {
		insert := "INSERT INTO " + table + " (name, value) VALUES ('" + scratch + "', '1')"
		for _, statement := range []string{
			insert,
			insert + " " + s.d.onTaken + " value = '2'",
			"UPDATE " + table + " SET value = " + s.d.greatest + "(3, " + s.d.now + ") WHERE name = '" + scratch + "'",
			"SELECT value FROM " + table + " WHERE name = '" + scratch + "'" + s.d.forUpdate,
			"DELETE FROM " + table + " WHERE name = '" + scratch + "'",
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}
