package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// LockImages returns which of the pictures exist. RemoveUnusedImages leaves them until the act ends. See
// app.CatalogueKeeper.
func (s *Store) LockImages(ctx context.Context, ids []string) (known map[string]bool, err error) {
	err = s.inTx(ctx, "lock pictures", func(tx bun.Conn) error {
		var found []string
		err := tx.NewRaw("SELECT id FROM images WHERE id IN (?) ORDER BY id"+s.d.forUpdate, bun.List(ids)).
			Scan(ctx, &found)
		known = make(map[string]bool, len(found))
		for _, id := range found {
			known[id] = true
		}
		return err
	})
	return known, err
}

// RenewImages has pictures count as if they had come just now. See app.CatalogueKeeper.
func (s *Store) RenewImages(ctx context.Context, ids []string) error {
	_, err := s.run(ctx, "renew pictures", "UPDATE images SET created_at = ? WHERE id IN (?)", wallClock(), bun.List(ids))
	return err
}

// SaveImage keeps a picture. One with the same id has the same pixels, so only its age begins again: whoever uploads it
// has as long as for a new one to show it.
func (s *Store) SaveImage(ctx context.Context, image *app.StoredImage) error {
	now := wallClock()
	_, err := s.run(ctx, "save a picture", "INSERT INTO images (id, kind, width, height, large, small, created_at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?) "+s.d.onTaken+" created_at = ?",
		image.ID, image.Kind, image.Width, image.Height, image.Large, image.Small, now, now)
	return err
}

// ImageFile reads the bytes of one form of a picture. ErrNoRow: there is none such.
func (s *Store) ImageFile(ctx context.Context, id string, kind app.ImageKind, small bool) (file []byte, err error) {
	column := "large"
	if small {
		column = "small"
	}
	err = s.reading(ctx).NewSelect().TableExpr("images").Column(column).Where("id = ? AND kind = ?", id, kind).
		Scan(ctx, &file)
	return file, wrap("read a picture", err)
}
