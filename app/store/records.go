package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// CategoryRecord is a category with the data for operators.
type CategoryRecord struct {
	shop.Category
	Position   int         `json:"position"` // display order
	Products   int         `json:"products"` // products that are not archived
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

func (r *categoryRecordRow) record(texts map[shop.ID]map[string]shop.CategoryText) CategoryRecord {
	return CategoryRecord{
		Category: shop.Category{ID: r.ID, Name: r.Name, Texts: texts[r.ID]}, Position: r.Position,
		Products: r.Products, Version: r.Version, UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt,
	}
}

func readCategoryRecords(ctx context.Context, db bun.IDB, narrow selection) ([]CategoryRecord, error) {
	var rows []categoryRecordRow
	err := narrow(db.NewSelect().TableExpr("categories AS c").
		ColumnExpr("c.id, c.position, c.name, c.version, c.updated_at, c.archived_at").
		ColumnExpr("(SELECT COUNT(*) FROM products AS p WHERE p.category_id = c.id AND p.archived_at = 0) AS products")).
		Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	texts, err := readCategoryTexts(ctx, db, convert(rows, func(r *categoryRecordRow) shop.ID { return r.ID }))
	return convert(rows, func(r *categoryRecordRow) CategoryRecord { return r.record(texts) }), err
}

// CategoryRecords lists all categories in display order.
func (s Catalogue) CategoryRecords(ctx context.Context) ([]CategoryRecord, error) {
	found, err := readCategoryRecords(ctx, s.db, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Order("c.position", "c.id")
	})
	return found, wrap("read categories", err)
}

// LockCategory reads and locks a category until the operation ends. ErrNoRow: no such category.
func (s Catalogue) LockCategory(ctx context.Context, id shop.ID) (c CategoryRecord, err error) {
	action := "lock category " + id.String()
	err = s.edit(ctx, action, func(tx bun.Conn) error {
		if err := s.lockRow(ctx, tx, "categories", id); err != nil {
			return err
		}
		found, err := readCategoryRecords(ctx, tx, where("c.id = ?", id))
		c, err = firstRow(action, found, err)
		return err
	})
	return c, err
}

// SaveCategory writes a category from LockCategory and raises its version.
func (s Catalogue) SaveCategory(ctx context.Context, c *CategoryRecord) error {
	return s.edit(ctx, "save category "+c.ID.String(), func(tx bun.Conn) error {
		return execMatching(ctx, tx, 1, "save a category",
			"UPDATE categories SET name = ?, position = ?, archived_at = ?, updated_at = ?, version = version + 1"+
				" WHERE id = ? AND version = ?",
			c.Name, c.Position, c.ArchivedAt, wallClock(), c.ID, c.Version)
	})
}

// LockSlots returns the visible slots that overlap [from, to). It raises the version of the catalogue, so that no slot
// changes, is added or removed until the operation ends.
func (s Catalogue) LockSlots(ctx context.Context, from, to shop.Millis) (slots []shop.Slot, err error) {
	err = s.edit(ctx, "lock slots", func(tx bun.Conn) error {
		slots, err = readSlots(ctx, tx, where("hidden = 0 AND opens_at < ? AND closes_at > ?", to, from))
		return err
	})
	return slots, err
}

// LockSlot reads a slot. No sale is added to it until the operation ends. ErrNoRow: no such slot.
func (s Catalogue) LockSlot(ctx context.Context, id shop.ID) (slot shop.Slot, err error) {
	action := "lock slot " + id.String()
	err = s.edit(ctx, action, func(tx bun.Conn) error {
		found, err := readSlots(ctx, tx, where("id = ?", id))
		slot, err = firstRow(action, found, err)
		return err
	})
	return slot, err
}

// RemoveSlot removes a slot without sales, and archives a slot that has only archived sales. It raises the version of
// the catalogue, so that no sale is added meanwhile. WrongState: the slot has other sales, or does not exist.
func (s Catalogue) RemoveSlot(ctx context.Context, id shop.ID) (archived bool, err error) {
	action := "remove slot " + id.String()
	err = s.edit(ctx, action, func(tx bun.Conn) error {
		n, err := exec(ctx, tx, "INSERT INTO archived_slots (id, opens_at, closes_at, archived_at)"+
			" SELECT id, opens_at, closes_at, ? FROM slots WHERE id = ?"+
			" AND EXISTS (SELECT 1 FROM sales WHERE sales.slot_id = ?)", wallClock(), id, id)
		if err != nil {
			return err
		}
		archived = n > 0
		n, err = exec(ctx, tx, "DELETE FROM slots WHERE id = ?"+
			" AND NOT EXISTS (SELECT 1 FROM sales WHERE sales.slot_id = ? AND sales.archived_at = 0)", id, id)
		if err == nil && n == 0 {
			err = shop.Fail(shop.WrongState, "it has sales: only a slot without sales, or with archived ones, can be removed")
		}
		return err
	})
	return archived, err
}

// salesAtOnce limits the rows of sales in one statement. SQLite allows a union of at most 500 parts.
const salesAtOnce = 250

// SaveSales writes the fields that operators can edit. A sale in Redis keeps its initial stock and cannot be archived
// before its end. The UPDATE statement checks this, because a sale can be loaded during an operation. WrongState: a
// sale was loaded, or has another version. ErrTransient: see mayEdit.
func (s Sales) SaveSales(ctx context.Context, sales ...SaleRecord) error {
	return s.Catalogue().edit(ctx, fmt.Sprintf("save %d sales", len(sales)), func(tx bun.Conn) error {
		// All transactions lock rows of sales in the order of their ids.
		edits := slices.Clone(sales)
		slices.SortFunc(edits, func(a, b SaleRecord) int { return cmp.Compare(a.ID, b.ID) })
		partitions := convert(edits, func(e *SaleRecord) int { return e.Partition })
		if err := s.mayEdit(ctx, tx, partitions...); err != nil {
			return err
		}
		for chunk := range slices.Chunk(edits, salesAtOnce) {
			if err := s.saveSales(ctx, tx, chunk); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s Sales) saveSales(ctx context.Context, tx bun.Conn, edits []SaleRecord) error {
	// limit_max keeps the highest former limit, because earlier orders within a former limit stay valid. This needs its
	// own statement: an update from a table of values may assign its columns in any order.
	_, err := exec(ctx, tx, "UPDATE sales SET limit_max = "+s.d.greatest+"(limit_max, buyer_limit) WHERE id IN (?)",
		bun.List(convert(edits, func(e *SaleRecord) shop.ID { return e.ID })))
	if err != nil {
		return err
	}
	var values strings.Builder
	values.WriteString("SELECT ? AS row_id, ? AS of_version, ? AS to_price, ? AS to_initial, ? AS to_limit, ? AS to_cap," +
		" ? AS to_open, ? AS to_close, ? AS to_challenge, ? AS to_position, ? AS to_archive")
	values.WriteString(strings.Repeat(" UNION ALL SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?", len(edits)-1))
	args := make([]any, 0, 11*len(edits)+1)
	for i := range edits {
		e := &edits[i]
		args = append(args, e.ID, e.Version, e.PriceFen, e.Initial, e.Limit, e.Cap,
			e.OpensAt, e.ClosesAt, e.Challenge, e.Position, e.ArchivedAt)
	}
	n, err := exec(ctx, tx, fmt.Sprintf(s.d.byValues, values.String(),
		fmt.Sprintf("price_fen = to_price, initial = to_initial, buyer_limit = to_limit, buyer_cap = to_cap,"+
			" opens_at = to_open, closes_at = to_close, challenge = to_challenge, position = to_position,"+
			" archived_at = to_archive, updated_at = %d, version = version + 1", wallClock()),
		"version = of_version AND (epoch = 0 OR initial = to_initial AND (archived_at = to_archive OR closes_at <= to_archive))"), args...)
	if err != nil {
		return err
	}
	if n != int64(len(edits)) {
		return shop.Fail(shop.WrongState, "the sale was loaded into Redis meanwhile: its stock can be added to or withdrawn from")
	}
	return nil
}
