package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Images keeps uploaded pictures.
type Images struct{ *session }

// ImageKind is the encoding of a picture, and the extension of its URL.
type ImageKind string

const (
	ImageJPEG ImageKind = "jpg"
	ImagePNG  ImageKind = "png"
)

// StoredImage is an uploaded picture after re-encoding. ID is the SHA-256 of Large, in hex. Equal pictures are
// therefore stored once, and the content of a URL never changes.
type StoredImage struct {
	ID            string
	Kind          ImageKind
	Width, Height int // of Large
	Large, Small  []byte
}

// URL returns the path of the picture.
func (i StoredImage) URL() string { return "/images/" + i.ID + "." + string(i.Kind) }

// LockImages returns the ids of the existing pictures. RemoveUnusedImages does not remove these pictures until the
// operation ends.
func (s Images) LockImages(ctx context.Context, ids []string) (known map[string]bool, err error) {
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

// RenewImages sets the age of the pictures to zero, so that RemoveUnusedImages keeps them.
func (s Images) RenewImages(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := s.run(ctx, "renew pictures", "UPDATE images SET created_at = ? WHERE id IN (?)", wallClock(), bun.List(ids))
	return err
}

// SaveImage stores a picture. A picture with the same id has the same pixels, so only its age is reset: the new
// uploader has the full time to use it.
func (s Images) SaveImage(ctx context.Context, image *StoredImage) error {
	now := wallClock()
	_, err := s.run(ctx, "save a picture", "INSERT INTO images (id, kind, width, height, large, small, created_at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?) "+s.d.onDuplicate+" created_at = ?",
		image.ID, image.Kind, image.Width, image.Height, image.Large, image.Small, now, now)
	return err
}

// ImageFile reads the large or the small form of a picture. ErrNoRow: no such picture.
func (s Images) ImageFile(
	ctx context.Context, id string, kind ImageKind, small bool,
) (file []byte, err error) {
	column := "large"
	if small {
		column = "small"
	}
	err = s.db.NewSelect().TableExpr("images").Column(column).Where("id = ? AND kind = ?", id, kind).
		Scan(ctx, &file)
	return file, wrap("read a picture", err)
}

// imagesAtOnce is the number of pictures that one statement checks.
const imagesAtOnce = 500

// oldImage is a picture that may be unused.
type oldImage struct {
	ID   string    `bun:"id"`
	Kind ImageKind `bun:"kind"`
}

func (i oldImage) url() string { return StoredImage{ID: i.ID, Kind: i.Kind}.URL() }

// RemoveUnusedImages removes pictures that were stored before the given instant and that no product shows, archived or
// not, also not in a description. It uses one transaction per picture and returns the number of removed pictures. The
// next run continues after an error.
func (s Images) RemoveUnusedImages(ctx context.Context, before shop.Millis) (removed int, err error) {
	for last := ""; ; {
		chunk, err := s.oldImages(ctx, last, before)
		if err != nil || len(chunk) == 0 {
			return removed, wrap("list old pictures", err)
		}
		last = chunk[len(chunk)-1].ID
		shown, err := s.shownURLs(ctx, chunk)
		if err != nil {
			return removed, wrap("read the pictures in use", err)
		}
		for _, image := range chunk {
			if shown[image.url()] {
				continue
			}
			wasRemoved, err := s.removeUnusedImage(ctx, image, before)
			if err != nil {
				return removed, err
			}
			if wasRemoved {
				removed++
			}
		}
	}
}

// oldImages returns the next pictures with an id above last that were stored before the given instant.
func (s Images) oldImages(ctx context.Context, last string, before shop.Millis) (chunk []oldImage, err error) {
	err = s.db.NewSelect().TableExpr("images").Column("id", "kind").Where("id > ?", last).
		Where("created_at < ?", before).Order("id").Limit(imagesAtOnce).Scan(ctx, &chunk)
	return chunk, err
}

// shownURLs returns the URLs of the pictures that products show.
func (s Images) shownURLs(ctx context.Context, images []oldImage) (map[string]bool, error) {
	var urls []string
	err := s.db.NewSelect().TableExpr("product_images").Distinct().Column("url").
		Where("url IN (?)", bun.List(convert(images, func(i *oldImage) string { return i.url() }))).Scan(ctx, &urls)
	shown := make(map[string]bool, len(urls))
	for _, url := range urls {
		shown[url] = true
	}
	return shown, err
}

// removeUnusedImage removes a picture if it is still old and unused, and reports whether it did. It locks the row of
// the picture first. An operation that adds the picture to a product holds the same lock until its commit, so the
// DELETE sees that commit.
func (s Images) removeUnusedImage(ctx context.Context, image oldImage, before shop.Millis) (bool, error) {
	return inTx(ctx, s.session, "remove picture "+image.ID, func(tx bun.Conn) (bool, error) {
		var locked string
		err := tx.QueryRowContext(ctx, "SELECT id FROM images WHERE id = ?"+s.d.forUpdate, image.ID).Scan(&locked)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil // another node was faster
		}
		if err != nil {
			return false, err
		}
		inText := "%/images/" + image.ID + ".%" // the large or the small picture
		n, err := exec(ctx, tx, "DELETE FROM images WHERE id = ? AND created_at < ?"+
			" AND NOT EXISTS (SELECT 1 FROM product_images WHERE url = ?)"+
			" AND NOT EXISTS (SELECT 1 FROM products WHERE description LIKE ?)"+
			" AND NOT EXISTS (SELECT 1 FROM product_texts WHERE description LIKE ?)",
			image.ID, before, image.url(), inText, inText)
		return n > 0, err
	})
}
