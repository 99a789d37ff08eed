package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/uptrace/bun"

	"stampede/app/admission"
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

// Kept is a small document that is stored by name.
type Kept struct {
	Version int64
	Body    string // JSON
}

// keptRow is Kept as the table has it.
type keptRow struct {
	bun.BaseModel `bun:"table:versioned_settings"`

	Name    string `bun:"name,pk"`
	Version int64  `bun:"version"`
	Body    string `bun:"body"`
}

// Kept reads all of them.
func (s *Store) Kept(ctx context.Context) (map[string]Kept, error) {
	var rows []keptRow
	if err := s.db.NewSelect().Model(&rows).Scan(ctx); err != nil {
		return nil, wrap("read what is kept", err)
	}
	all := make(map[string]Kept, len(rows))
	for _, r := range rows {
		all[r.Name] = Kept{Version: r.Version, Body: r.Body}
	}
	return all, nil
}

// Keep replaces one that is at the version given, 0 for none. ErrNoRow: it is at another one.
func (s *Store) Keep(ctx context.Context, name string, version int64, body string) error {
	return s.inTx(ctx, "keep "+name, func(tx bun.Conn) error {
		if version == 0 {
			return insert(ctx, tx, &keptRow{Name: name, Version: 1, Body: body})
		}
		return orNoRow(exec(ctx, tx, "UPDATE versioned_settings SET version = version + 1, body = ? WHERE name = ? AND version = ?",
			body, name, version))
	})
}

// settingWorkBits is how difficult a proof of work is.
const settingWorkBits = "work_bits"

// SetChallenge sets the entry check of a sale; every node knows it within a second. ErrNoRow: there is no such sale.
func (s *Store) SetChallenge(ctx context.Context, sale shop.ID, c shop.Challenge) error {
	return s.edit(ctx, "set the entry check of a sale", func(tx bun.Conn) error {
		// The version makes the row differ, so that the count of rows tells whether there is one.
		return orNoRow(exec(ctx, tx, "UPDATE sales SET challenge = ?, version = version + 1 WHERE id = ?", c, sale))
	})
}

// WorkBits is how difficult a proof of work is; 0: nobody has said so.
func (s *Store) WorkBits(ctx context.Context) (int, error) {
	bits, err := counted(ctx, s.db, settingWorkBits)
	return int(bits), wrap("read how difficult proofs of work are", err)
}

// SetWorkBits says how difficult proofs of work are from now on. Those that were set before stay as they are.
func (s *Store) SetWorkBits(ctx context.Context, bits int) error {
	if bits < admission.LeastWorkBits || bits > admission.MostWorkBits {
		return shop.Fail(shop.BadRequest,
			fmt.Sprintf("a proof of work has from %d to %d bits", admission.LeastWorkBits, admission.MostWorkBits))
	}
	return s.inTx(ctx, "set how difficult proofs of work are", func(tx bun.Conn) error {
		return s.putSetting(ctx, tx, settingWorkBits, bits)
	})
}
