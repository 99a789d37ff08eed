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

// Settings keeps settings of the shop that operators change.
type Settings struct{ *session }

const (
	settingPartitions = "partitions"
	settingVersion    = "catalogue_version"
	settingGroups     = "backoffice_groups" // one name per line
	settingShop       = "shop"              // 16 hex digits; see migrations
)

// setting reads a number. ErrNoRow: it was never set.
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

// numberSetting is like setting, but returns 0 for a setting that was never set.
func numberSetting(ctx context.Context, db bun.IDB, name string) (int64, error) {
	n, err := setting(ctx, db, name)
	if errors.Is(err, shop.ErrNoRow) {
		return 0, nil
	}
	return n, err
}

// Version grows with every change of the catalogue; 0 before the first change.
func (s Catalogue) Version(ctx context.Context) (int64, error) {
	n, err := numberSetting(ctx, s.db, settingVersion)
	return n, wrap("read the catalogue's version", err)
}

// ShopID returns the random id of the shop, 16 hex digits, which the first migration has stored. It is in the mark of
// each trade and in each partition of Redis.
func (s Settings) ShopID(ctx context.Context) (id string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = ?", settingShop).Scan(&id)
	return id, wrap("read the id of the shop", err)
}

// putSetting inserts or replaces a setting.
func (s *session) putSetting(ctx context.Context, tx bun.Conn, name string, value any) error {
	text := fmt.Sprint(value)
	_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, ?) "+s.d.onDuplicate+" value = ?", name, text, text)
	return err
}

// raise adds 1 to a numeric setting and locks its row until the transaction ends.
func (s *session) raise(ctx context.Context, tx bun.Conn, name string) error {
	_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, '1') "+s.d.onDuplicate+" value = value + 1", name)
	return err
}

// Document is a small versioned document, stored by name.
type Document struct {
	Version int64
	Body    string // JSON
}

// documentRow is the row of a Document.
type documentRow struct {
	bun.BaseModel `bun:"table:versioned_settings"`

	Name    string `bun:"name,pk"`
	Version int64  `bun:"version"`
	Body    string `bun:"body"`
}

// Documents reads documents by name. The result omits documents that were never stored.
func (s Settings) Documents(ctx context.Context, names ...string) (map[string]Document, error) {
	var rows []documentRow
	if err := s.db.NewSelect().Model(&rows).Where("name IN (?)", bun.List(names)).Scan(ctx); err != nil {
		return nil, wrap("read the documents", err)
	}
	all := make(map[string]Document, len(rows))
	for _, r := range rows {
		all[r.Name] = Document{Version: r.Version, Body: r.Body}
	}
	return all, nil
}

// SaveDocument replaces the document if it is at the given version; 0 creates it. ErrNoRow: the document has another
// version. ErrPermanent: version is 0 and the document exists.
func (s Settings) SaveDocument(ctx context.Context, name string, version int64, body string) error {
	return s.inTx(ctx, "save document "+name, func(tx bun.Conn) error {
		if version == 0 {
			return insert(ctx, tx, &documentRow{Name: name, Version: 1, Body: body})
		}
		return noRowIfUnmatched(exec(ctx, tx, "UPDATE versioned_settings SET version = version + 1, body = ? WHERE name = ? AND version = ?",
			body, name, version))
	})
}

// settingWorkBits is the difficulty of a proof of work.
const settingWorkBits = "work_bits"

// SetChallenge sets the entry check of a sale; every node applies it within a second. ErrNoRow: no such sale.
func (s Sales) SetChallenge(ctx context.Context, sale shop.ID, c shop.Challenge) error {
	return s.Catalogue().edit(ctx, "set the entry check of a sale", func(tx bun.Conn) error {
		// The new version makes an edit of the older version fail with journal.Changed.
		return noRowIfUnmatched(exec(ctx, tx, "UPDATE sales SET challenge = ?, version = version + 1 WHERE id = ?", c, sale))
	})
}

// WorkBits returns the difficulty of a proof of work; 0: never set.
func (s Settings) WorkBits(ctx context.Context) (int, error) {
	bits, err := numberSetting(ctx, s.db, settingWorkBits)
	return int(bits), wrap("read the difficulty of proofs of work", err)
}

// SetWorkBits sets the difficulty of new proofs of work. Challenges that were issued earlier keep their difficulty.
func (s Settings) SetWorkBits(ctx context.Context, bits int) error {
	if bits < admission.MinWorkBits || bits > admission.MaxWorkBits {
		return shop.Fail(shop.BadRequest,
			fmt.Sprintf("a proof of work has from %d to %d bits", admission.MinWorkBits, admission.MaxWorkBits))
	}
	return s.inTx(ctx, "set the difficulty of proofs of work", func(tx bun.Conn) error {
		return s.putSetting(ctx, tx, settingWorkBits, bits)
	})
}
