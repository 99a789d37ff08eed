package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// rowsAtOnce keeps a bulk INSERT well below max_allowed_packet, even with long descriptions.
const rowsAtOnce = 500

// edit changes the catalogue in one transaction. It raises the version first: the row lock serialises editors, and no
// node sees the new version before the change.
func (s Catalogue) edit(ctx context.Context, action string, fn func(tx bun.Conn) error) error {
	return s.inTx(ctx, action, func(tx bun.Conn) error {
		if err := s.raise(ctx, tx, settingVersion); err != nil {
			return err
		}
		return fn(tx)
	})
}

// insertAll inserts the rows in chunks of rowsAtOnce.
func insertAll[T any](ctx context.Context, tx bun.Conn, rows []T) error {
	for chunk := range slices.Chunk(rows, rowsAtOnce) {
		if err := insert(ctx, tx, &chunk); err != nil {
			return err
		}
	}
	return nil
}

// AddCategories adds categories after the existing ones. ErrPermanent: an id or a name exists.
func (s Catalogue) AddCategories(ctx context.Context, categories []shop.Category) error {
	return s.edit(ctx, "add categories", func(tx bun.Conn) error {
		var last int
		if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(position), 0) FROM categories").Scan(&last); err != nil {
			return err
		}
		rows := make([]categoryRow, len(categories))
		var texts []categoryTextRow
		for i, c := range categories {
			rows[i] = categoryRow{ID: c.ID, Position: last + i + 1, Name: c.Name}
			texts = append(texts, categoryTextRows(c.ID, c.Texts)...)
		}
		if err := insertAll(ctx, tx, rows); err != nil {
			return err
		}
		return insertAll(ctx, tx, texts)
	})
}

// newProduct is the row of a new product.
type newProduct struct {
	bun.BaseModel `bun:"table:products"`

	ID          shop.ID     `bun:"id,pk"`
	Category    shop.ID     `bun:"category_id"`
	Name        string      `bun:"name"`
	ListPrice   int64       `bun:"list_price_fen"`
	Ships       bool        `bun:"ships"`
	Description string      `bun:"description"`
	Rules       string      `bun:"rules"`
	CreatedAt   shop.Millis `bun:"created_at"`
	UpdatedAt   shop.Millis `bun:"updated_at"`
}

// AddProducts adds products with their pictures and texts. CategoryID is the category; 0: no category. ErrPermanent: an
// id exists.
func (s Catalogue) AddProducts(ctx context.Context, products []shop.Product) error {
	now := wallClock()
	rows := make([]newProduct, len(products))
	var images []imageRow
	var texts []productTextRow
	for i, p := range products {
		rows[i] = newProduct{
			ID: p.ID, Category: p.CategoryID, Name: p.Name, ListPrice: p.ListPriceFen, Ships: p.Ships,
			Description: p.Description, Rules: p.Rules, CreatedAt: now, UpdatedAt: now,
		}
		for j, image := range p.Images {
			images = append(images, imageRow{Product: p.ID, Position: j, URL: image.URL, Alt: image.Alt})
		}
		texts = append(texts, productTextRows(p.ID, p.Texts)...)
	}
	return s.edit(ctx, "add products", func(tx bun.Conn) error {
		if err := insertAll(ctx, tx, rows); err != nil {
			return err
		}
		if err := insertAll(ctx, tx, images); err != nil {
			return err
		}
		return insertAll(ctx, tx, texts)
	})
}

// AddSlots adds all slots, or no slot. A slot with the same window as an existing one is skipped. Conflict: a slot
// overlaps another one. BadRequest: a slot does not end after it begins.
func (s Catalogue) AddSlots(ctx context.Context, slots []shop.Slot) error {
	if len(slots) == 0 {
		return nil
	}
	from, to := slots[0].OpensAt, slots[0].ClosesAt
	for _, slot := range slots {
		if slot.OpensAt >= slot.ClosesAt {
			return shop.Fail(shop.BadRequest, fmt.Sprintf("slot %s must end after its start", slot.ID))
		}
		from, to = min(from, slot.OpensAt), max(to, slot.ClosesAt)
	}
	return s.edit(ctx, "add slots", func(tx bun.Conn) error {
		var existing []slotRow
		err := tx.NewSelect().Model(&existing).Where("hidden = 0").Where("opens_at < ?", to).Where("closes_at > ?", from).
			Scan(ctx)
		if err != nil {
			return err
		}
		rows, err := newSlots(existing, slots)
		if err != nil {
			return err
		}
		return insertAll(ctx, tx, rows)
	})
}

// newSlots returns the slots that do not exist yet. Conflict: two slots overlap. Hidden slots may overlap others.
func newSlots(existing []slotRow, slots []shop.Slot) ([]slotRow, error) {
	known := make(map[[2]shop.Millis]bool, len(existing))
	for _, r := range existing {
		known[[2]shop.Millis{r.OpensAt, r.ClosesAt}] = true
	}
	var rows, hidden []slotRow
	for _, slot := range slots {
		if slot.Hidden {
			hidden = append(hidden, slotRow{ID: slot.ID, OpensAt: slot.OpensAt, ClosesAt: slot.ClosesAt, Hidden: true})
			continue
		}
		if window := [2]shop.Millis{slot.OpensAt, slot.ClosesAt}; !known[window] {
			known[window] = true
			rows = append(rows, slotRow{ID: slot.ID, OpensAt: slot.OpensAt, ClosesAt: slot.ClosesAt})
		}
	}
	all := slices.Concat(existing, rows)
	slices.SortFunc(all, func(a, b slotRow) int { return int(a.OpensAt - b.OpensAt) })
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; b.OpensAt < a.ClosesAt {
			return nil, shop.Fail(shop.Conflict, fmt.Sprintf("slots %s and %s overlap", a.ID, b.ID))
		}
	}
	return append(rows, hidden...), nil
}
