package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Catalogue keeps categories, products and slots.
type Catalogue struct{ *session }

// SaleIDs lists the ids of all sales, for the Bloom filter.
func (s Sales) SaleIDs(ctx context.Context) ([]shop.ID, error) {
	var ids []shop.ID
	err := s.db.NewSelect().TableExpr("sales").Column("id").Order("id").Scan(ctx, &ids)
	return ids, wrap("read sale ids", err)
}

// slotRow is the row of a shop.Slot. Sales is the number of sales of the slot, which the query computes.
type slotRow struct {
	bun.BaseModel `bun:"table:slots,alias:slot"`

	ID       shop.ID     `bun:"id,pk"`
	OpensAt  shop.Millis `bun:"opens_at"`
	ClosesAt shop.Millis `bun:"closes_at"`
	Hidden   bool        `bun:"hidden"`
	Sales    int         `bun:"sales,scanonly"`
}

func (s Catalogue) slots(ctx context.Context, action string, narrow selection) ([]shop.Slot, error) {
	slots, err := readSlots(ctx, s.db, narrow)
	return slots, wrap(action, err)
}

// readSlots reads slots in the order of their windows. Archived sales are not counted.
func readSlots(ctx context.Context, db bun.IDB, narrow selection) ([]shop.Slot, error) {
	var rows []slotRow
	err := narrow(db.NewSelect().Model(&rows).ColumnExpr("?TableColumns").
		ColumnExpr("(SELECT COUNT(*) FROM sales WHERE sales.slot_id = slot.id AND sales.archived_at = 0) AS sales")).
		Order("opens_at").Scan(ctx)
	return convert(rows, func(r *slotRow) shop.Slot {
		return shop.Slot{ID: r.ID, OpensAt: r.OpensAt, ClosesAt: r.ClosesAt, Hidden: r.Hidden, Sales: r.Sales}
	}), err
}

// Slots lists the visible slots that overlap [from, to), in the order of their windows, without a phase.
func (s Catalogue) Slots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error) {
	return s.slots(ctx, "read slots", where("hidden = 0 AND opens_at < ? AND closes_at > ?", to, from))
}

// AllSlots is like Slots, but includes hidden slots.
func (s Catalogue) AllSlots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error) {
	return s.slots(ctx, "read slots", where("opens_at < ? AND closes_at > ?", to, from))
}

// Slot reads one slot. ErrNoRow: no such slot.
func (s Catalogue) Slot(ctx context.Context, id shop.ID) (shop.Slot, error) {
	action := "read slot " + id.String()
	found, err := s.slots(ctx, action, where("id = ?", id))
	return firstRow(action, found, err)
}

// SalesOfSlot lists the visible sales of a slot with their products, in display order. Nodes keep them in memory for
// lists and details.
func (s Sales) SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.Sale, error) {
	return s.sales(ctx, "read sales of slot "+slot.String(), allTexts, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("s.slot_id = ? AND s.archived_at = 0 AND s.hidden = 0", slot).Order("s.position", "s.id")
	})
}

// SalesByPhase returns one page of the sales of a phase, and whether more follow. Upcoming sales are sorted by their
// opening, open sales by their closing, ended sales by their closing with the last first. A page beyond the end is
// empty. The texts in further languages have only names.
func (s Sales) SalesByPhase(
	ctx context.Context, phase shop.Phase, now shop.Millis, page, size int,
) ([]shop.Sale, bool, error) {
	found, err := s.sales(ctx, "read "+string(phase)+" sales", namesOnly, func(q *bun.SelectQuery) *bun.SelectQuery {
		q = q.Where("s.archived_at = 0 AND s.hidden = 0")
		switch phase {
		case shop.Upcoming:
			q = q.Where("s.opens_at > ?", now).Order("s.opens_at", "s.id")
		case shop.Open:
			q = q.Where("s.closes_at > ?", now).Where("s.opens_at <= ?", now).Order("s.closes_at", "s.id")
		default:
			q = q.Where("s.closes_at <= ?", now).Order("s.closes_at DESC", "s.id DESC")
		}
		return selectPage(q, page, size)
	})
	found, more := trimPage(found, size)
	return found, more, err
}

// selectPage selects a page and one extra row, see trimPage.
func selectPage(q *bun.SelectQuery, page, size int) *bun.SelectQuery {
	return q.Offset(int64(max(page, 1)-1) * int64(size)).Limit(int64(size) + 1)
}

// Categories lists the categories that are not archived, in display order.
func (s Catalogue) Categories(ctx context.Context) ([]shop.Category, error) {
	var rows []categoryRow
	const action = "read categories"
	err := s.db.NewSelect().Model(&rows).Where("archived_at = 0").Order("position", "id").Scan(ctx)
	if err != nil {
		return nil, wrap(action, err)
	}
	texts, err := readCategoryTexts(ctx, s.db, convert(rows, func(r *categoryRow) shop.ID { return r.ID }))
	return convert(rows, func(r *categoryRow) shop.Category {
		return shop.Category{ID: r.ID, Name: r.Name, Texts: texts[r.ID]}
	}), wrap(action, err)
}

type categoryRow struct {
	bun.BaseModel `bun:"table:categories"`

	ID       shop.ID `bun:"id,pk"`
	Position int     `bun:"position"`
	Name     string  `bun:"name"`
}

// Products returns one page of the products that are not archived, in the order of their ids, without description and
// rules. It also reports whether more follow.
func (s Catalogue) Products(ctx context.Context, category shop.ID, page, size int) ([]shop.Product, bool, error) {
	found, err := s.products(ctx, "read products", namesOnly, func(q *bun.SelectQuery) *bun.SelectQuery {
		q = q.Where("p.archived_at = 0")
		q = whereSet(q, "p.category_id = ?", category)
		return selectPage(q.Order("p.id"), page, size)
	})
	found, more := trimPage(found, size)
	for i := range found {
		found[i].OmitDetails()
	}
	return found, more, err
}

// Product reads one product with description and rules. ErrNoRow: no such product.
func (s Catalogue) Product(ctx context.Context, id shop.ID) (shop.Product, error) {
	action := "read product " + id.String()
	found, err := s.products(ctx, action, allTexts, where("p.id = ?", id))
	return firstRow(action, found, err)
}

func (s Catalogue) products(
	ctx context.Context, action string, texts []string, narrow selection,
) ([]shop.Product, error) {
	found, err := readProductRecords(ctx, s.db, texts, narrow)
	return convert(found, func(p *ProductRecord) shop.Product { return p.Product }), wrap(action, err)
}
