package store

import (
	"context"

	"github.com/uptrace/bun"
)

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
