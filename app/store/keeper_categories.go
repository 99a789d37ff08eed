package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// CategoryRecord is a category as operators see it.
type CategoryRecord struct {
	shop.Category
	Position   int         `json:"position"` // they are listed by it
	Products   int         `json:"products"` // how many can be offered
	Version    int64       `json:"version"`
	UpdatedAt  shop.Millis `json:"updated_at"`
	ArchivedAt shop.Millis `json:"archived_at,omitempty"`
}

type categoryRecordRow struct {
	categoryRow

	Products   int         `bun:"products,scanonly"`
	Version    int64       `bun:"version"`
	UpdatedAt  shop.Millis `bun:"updated_at"`
	ArchivedAt shop.Millis `bun:"archived_at"`
}

func (r *categoryRecordRow) record() CategoryRecord {
	return CategoryRecord{
		Category: shop.Category{ID: r.ID, Name: r.Name}, Position: r.Position, Products: r.Products, Version: r.Version,
		UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt,
	}
}

func readCategoryRecords(ctx context.Context, db bun.IDB, narrow selection) ([]CategoryRecord, error) {
	var rows []categoryRecordRow
	err := narrow(db.NewSelect().TableExpr("categories AS c").
		ColumnExpr("c.id, c.position, c.name, c.version, c.updated_at, c.archived_at").
		ColumnExpr("(SELECT COUNT(*) FROM products AS p WHERE p.category_id = c.id AND p.archived_at = 0) AS products")).
		Scan(ctx, &rows)
	return convert(rows, (*categoryRecordRow).record), err
}

// CategoryRecords lists all categories in their order.
func (s *Store) CategoryRecords(ctx context.Context) ([]CategoryRecord, error) {
	found, err := readCategoryRecords(ctx, s.reading(ctx), func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Order("c.position", "c.id")
	})
	return found, wrap("read categories", err)
}

// LockCategory reads a category that does not change until the act ends.
func (s *Store) LockCategory(ctx context.Context, id shop.ID) (c CategoryRecord, err error) {
	what := "lock category " + id.String()
	err = s.edit(ctx, what, func(tx bun.Conn) error {
		if err := s.lockRow(ctx, tx, "categories", id); err != nil {
			return err
		}
		found, err := readCategoryRecords(ctx, tx, where("c.id = ?", id))
		c, err = only(what, found, err)
		return err
	})
	return c, err
}

// SaveCategory writes a category.
func (s *Store) SaveCategory(ctx context.Context, c *CategoryRecord) error {
	return s.edit(ctx, "save category "+c.ID.String(), func(tx bun.Conn) error {
		return execMatching(ctx, tx, 1, "save a category",
			"UPDATE categories SET name = ?, position = ?, archived_at = ?, updated_at = ?, version = version + 1"+
				" WHERE id = ? AND version = ?",
			c.Name, c.Position, c.ArchivedAt, wallClock(), c.ID, c.Version)
	})
}
