package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Names of settings.
const (
	settingPartitions = "partitions"
	settingVersion    = "catalogue_version"
	settingGroups     = "backoffice_groups" // one name per line
)

// setting reads a number; ErrNoRow when it was never set.
func setting(ctx context.Context, db bun.IDB, name string) (int64, error) {
	var text string
	err := db.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = ?", name).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, shop.ErrNoRow
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// counted is setting for a number that is 0 before it was ever set.
func counted(ctx context.Context, db bun.IDB, name string) (int64, error) {
	n, err := setting(ctx, db, name)
	if errors.Is(err, shop.ErrNoRow) {
		return 0, nil
	}
	return n, err
}

// Version grows with every change of the catalogue; 0 before the first.
func (s *Store) Version(ctx context.Context) (int64, error) {
	n, err := counted(ctx, s.db, settingVersion)
	return n, wrap("read the catalogue's version", err)
}

// putSetting sets a setting.
func (s *Store) putSetting(ctx context.Context, tx bun.Conn, name string, value any) error {
	text := fmt.Sprint(value)
	_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, ?) "+s.d.onTaken+" value = ?", name, text, text)
	return err
}

// raise makes a setting that counts one larger, and holds its row until the transaction ends.
func (s *Store) raise(ctx context.Context, tx bun.Conn, name string) error {
	_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, '1') "+s.d.onTaken+" value = value + 1", name)
	return err
}
