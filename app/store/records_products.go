package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// ProductRecord is a product with the data for operators.
type ProductRecord struct {
	shop.Product
	Version    int64       `json:"version"` // grows with each edit
	CreatedAt  shop.Millis `json:"created_at"`
	UpdatedAt  shop.Millis `json:"updated_at"`
	ArchivedAt shop.Millis `json:"archived_at,omitempty"` // 0: not archived
}

// ProductsQuery selects a page of products, the newest first. Page starts at 1.
type ProductsQuery struct {
	Text       string  // part of the name; "": all
	Category   shop.ID // 0: all
	Archived   bool    // archived products instead of the others
	Page, Size int
}

// productRecordRow is ProductRecord without pictures and texts.
type productRecordRow struct {
	productColumns

	Version    int64       `bun:"version"`
	CreatedAt  shop.Millis `bun:"created_at"`
	UpdatedAt  shop.Millis `bun:"updated_at"`
	ArchivedAt shop.Millis `bun:"archived_at"`
}

// readProductRecords reads products with all fields, pictures and the given columns of their texts.
func readProductRecords(
	ctx context.Context, db bun.IDB, texts []string, narrow selection,
) ([]ProductRecord, error) {
	var rows []productRecordRow
	err := narrow(db.NewSelect().TableExpr("products AS p").
		ColumnExpr("p.id AS product_id, p.name AS product_name, p.category_id, p.list_price_fen").
		ColumnExpr("p.ships, p.description, p.rules").
		ColumnExpr("p.version, p.created_at, p.updated_at, p.archived_at").
		ColumnExpr("COALESCE(c.name, '') AS category_name").
		Join("LEFT JOIN categories AS c ON c.id = p.category_id")).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	products := convert(rows, func(r *productRecordRow) *productColumns { return &r.productColumns })
	parts, err := readParts(ctx, db, texts, products)
	if err != nil {
		return nil, err
	}
	return convert(rows, func(r *productRecordRow) ProductRecord {
		return ProductRecord{
			Product: r.product(&parts), Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
			ArchivedAt: r.ArchivedAt,
		}
	}), nil
}

// ProductRecords returns one page of products, the newest first, and whether more follow.
func (s Catalogue) ProductRecords(
	ctx context.Context, q ProductsQuery,
) ([]ProductRecord, bool, error) {
	found, err := readProductRecords(ctx, s.db, allTexts, func(sel *bun.SelectQuery) *bun.SelectQuery {
		if q.Archived {
			sel = sel.Where("p.archived_at > 0")
		} else {
			sel = sel.Where("p.archived_at = 0")
		}
		sel = whereSet(sel, "p.category_id = ?", q.Category)
		if q.Text != "" {
			sel = sel.Where("p.name LIKE ? ESCAPE '!'", containing(q.Text))
		}
		return selectPage(sel.Order("p.id DESC"), q.Page, q.Size)
	})
	found, more := trimPage(found, q.Size)
	return found, more, wrap("read products", err)
}

// ProductRecord reads one product. ErrNoRow: no such product.
func (s Catalogue) ProductRecord(ctx context.Context, id shop.ID) (ProductRecord, error) {
	found, err := readProductRecords(ctx, s.db, allTexts, where("p.id = ?", id))
	action := "read product " + id.String()
	return firstRow(action, found, wrap(action, err))
}

// LockProduct is ProductRecord with a lock until the operation ends.
func (s Catalogue) LockProduct(ctx context.Context, id shop.ID) (p ProductRecord, err error) {
	action := "lock product " + id.String()
	err = s.edit(ctx, action, func(tx bun.Conn) error {
		if err := s.lockRow(ctx, tx, "products", id); err != nil {
			return err
		}
		found, err := readProductRecords(ctx, tx, allTexts, where("p.id = ?", id))
		p, err = firstRow(action, found, err)
		return err
	})
	return p, err
}

// lockRow locks a row until the transaction ends. ErrNoRow: no such row.
func (s *session) lockRow(ctx context.Context, tx bun.Conn, table string, id shop.ID) error {
	var locked shop.ID
	return tx.QueryRowContext(ctx, "SELECT id FROM "+table+" WHERE id = ?"+s.d.forUpdate, id).Scan(&locked)
}

// SaveProduct writes a product from LockProduct and raises its version. p.Version is the current version of the row.
// It does not write pictures and texts: they have their own tables, and most edits keep them.
func (s Catalogue) SaveProduct(ctx context.Context, p *ProductRecord) error {
	return s.edit(ctx, "save product "+p.ID.String(), func(tx bun.Conn) error {
		return execMatching(ctx, tx, 1, "save a product",
			"UPDATE products SET name = ?, category_id = ?, list_price_fen = ?, ships = ?, description = ?, rules = ?,"+
				" archived_at = ?, updated_at = ?, version = version + 1 WHERE id = ? AND version = ?",
			p.Name, p.CategoryID, p.ListPriceFen, p.Ships, p.Description, p.Rules, p.ArchivedAt, wallClock(), p.ID,
			p.Version)
	})
}

// SaveProductImages replaces the pictures of a product.
func (s Catalogue) SaveProductImages(ctx context.Context, product shop.ID, images []shop.Image) error {
	return s.edit(ctx, "save the pictures of product "+product.String(), func(tx bun.Conn) error {
		if _, err := exec(ctx, tx, "DELETE FROM product_images WHERE product_id = ?", product); err != nil {
			return err
		}
		rows := make([]imageRow, len(images))
		for i, image := range images {
			rows[i] = imageRow{Product: product, Position: i, URL: image.URL, Alt: image.Alt}
		}
		return insertAll(ctx, tx, rows)
	})
}

// ProductsByID reads the products that exist, in no particular order.
func (s Catalogue) ProductsByID(ctx context.Context, ids []shop.ID) ([]ProductRecord, error) {
	return byIDs(ids, func(chunk []shop.ID) ([]ProductRecord, error) {
		found, err := readProductRecords(ctx, s.db, allTexts, where("p.id IN (?)", bun.List(chunk)))
		return found, wrap("read products", err)
	})
}

// ProductsByName reads the products with one of the names that are not archived, in no particular order. The collation
// of the database decides equality.
func (s Catalogue) ProductsByName(ctx context.Context, names []string) ([]ProductRecord, error) {
	return byIDs(names, func(chunk []string) ([]ProductRecord, error) {
		named := where("p.name IN (?) AND p.archived_at = 0", bun.List(chunk))
		found, err := readProductRecords(ctx, s.db, allTexts, named)
		return found, wrap("read products", err)
	})
}

// byIDs calls read for sorted lists of at most idsAtOnce keys without duplicates, and joins the results.
func byIDs[K cmp.Ordered, T any](ids []K, read func(chunk []K) ([]T, error)) ([]T, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var all []T
	for chunk := range slices.Chunk(slices.Compact(ids), idsAtOnce) {
		found, err := read(chunk)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
