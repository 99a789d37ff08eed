package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// SaleRecord is a sale with the data for operators. It contains no field that changes with each buy.
type SaleRecord struct {
	ID         shop.ID        `json:"id"`
	Slot       shop.Slot      `json:"slot"`
	Product    shop.Product   `json:"product"` // without description and rules
	PriceFen   int64          `json:"price_fen"`
	Initial    int64          `json:"initial"`
	Added      int64          `json:"added"`
	Withdrawn  int64          `json:"withdrawn"`
	Limit      int            `json:"limit"`
	Cap        int            `json:"cap"`
	OpensAt    shop.Millis    `json:"opens_at"`
	ClosesAt   shop.Millis    `json:"closes_at"`
	Phase      shop.Phase     `json:"phase"`
	Paused     bool           `json:"paused"`
	Hidden     bool           `json:"hidden,omitempty"` // copied from its slot
	Challenge  shop.Challenge `json:"challenge"`
	Position   int            `json:"position"`
	Partition  int            `json:"partition"`
	Loaded     bool           `json:"loaded"` // its stock is, or was, in Redis
	Version    int64          `json:"version"`
	CreatedAt  shop.Millis    `json:"created_at"`
	UpdatedAt  shop.Millis    `json:"updated_at"`
	ArchivedAt shop.Millis    `json:"archived_at,omitempty"`
}

// SalesQuery selects a page of sales, sorted by their opening, the latest first. Page starts at 1.
type SalesQuery struct {
	Slot       shop.ID     // 0: all
	Phase      shop.Phase  // "": all
	Text       string      // part of the product's name, or the id of a sale or product
	Archived   bool        // archived sales instead of the others
	Now        shop.Millis // decides the phases
	Page, Size int
}

// saleRecordRow is SaleRecord without the pictures.
type saleRecordRow struct {
	saleColumns
	productColumns

	Position   int         `bun:"position"`
	SlotOpens  shop.Millis `bun:"slot_opens"`
	SlotCloses shop.Millis `bun:"slot_closes"`
	CreatedAt  shop.Millis `bun:"created_at"`
	UpdatedAt  shop.Millis `bun:"updated_at"`
	ArchivedAt shop.Millis `bun:"archived_at"`
}

func (r *saleRecordRow) record(parts *productParts) SaleRecord {
	product := r.product(parts)
	product.OmitDetails()
	return SaleRecord{
		ID: r.ID, Slot: shop.Slot{ID: r.Slot, OpensAt: r.SlotOpens, ClosesAt: r.SlotCloses}, Product: product,
		PriceFen: r.PriceFen, Initial: r.Initial, Added: r.Added, Withdrawn: r.Withdrawn, Limit: r.Limit, Cap: r.Cap,
		OpensAt: r.OpensAt, ClosesAt: r.ClosesAt, Paused: r.Paused, Hidden: r.Hidden, Challenge: r.Challenge,
		Position: r.Position, Partition: r.Partition, Loaded: r.Epoch != 0, Version: r.Version, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt,
	}
}

func readSaleRecords(ctx context.Context, db bun.IDB, narrow selection) ([]SaleRecord, error) {
	var rows []saleRecordRow
	err := narrow(db.NewSelect().TableExpr("sales AS s").
		ColumnExpr("s.id, s.slot_id, s.part, s.price_fen, s.initial, s.added, s.withdrawn, s.taken, s.buyer_limit").
		ColumnExpr("s.buyer_cap, s.opens_at, s.closes_at, s.paused, s.hidden, s.challenge, s.version, s.epoch, s.product_id").
		ColumnExpr("s.position, s.created_at, s.updated_at, s.archived_at").
		ColumnExpr("COALESCE(slot.opens_at, past.opens_at) AS slot_opens").
		ColumnExpr("COALESCE(slot.closes_at, past.closes_at) AS slot_closes").
		ColumnExpr("p.name AS product_name, p.category_id, p.list_price_fen, p.ships").
		ColumnExpr("COALESCE(c.name, '') AS category_name").
		Join("LEFT JOIN slots AS slot ON slot.id = s.slot_id").
		Join("LEFT JOIN archived_slots AS past ON past.id = s.slot_id").
		Join("JOIN products AS p ON p.id = s.product_id").
		Join("LEFT JOIN categories AS c ON c.id = p.category_id").
		Where("(slot.id IS NOT NULL OR past.id IS NOT NULL)")).
		Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	products := convert(rows, func(r *saleRecordRow) *productColumns { return &r.productColumns })
	parts, err := readParts(ctx, db, namesOnly, products)
	if err != nil {
		return nil, err
	}
	return convert(rows, func(r *saleRecordRow) SaleRecord { return r.record(&parts) }), nil
}

// SaleRecords returns one page of sales, sorted by their opening, the latest first, and whether more follow.
func (s Sales) SaleRecords(ctx context.Context, q SalesQuery) ([]SaleRecord, bool, error) {
	found, err := readSaleRecords(ctx, s.db, func(sel *bun.SelectQuery) *bun.SelectQuery {
		if q.Archived {
			sel = sel.Where("s.archived_at > 0")
		} else {
			sel = sel.Where("s.archived_at = 0")
		}
		sel = whereSet(sel, "s.slot_id = ?", q.Slot)
		switch q.Phase {
		case shop.Upcoming:
			sel = sel.Where("s.opens_at > ?", q.Now)
		case shop.Open:
			sel = sel.Where("s.closes_at > ?", q.Now).Where("s.opens_at <= ?", q.Now)
		case shop.Ended:
			sel = sel.Where("s.closes_at <= ?", q.Now)
		}
		if id, err := shop.ParseID(q.Text); err == nil {
			sel = sel.Where("(s.id = ? OR s.product_id = ?)", id, id)
		} else if q.Text != "" {
			sel = sel.Where("p.name LIKE ? ESCAPE '!'", containing(q.Text))
		}
		return selectPage(sel.Order("s.opens_at DESC", "s.slot_id", "s.position", "s.id"), q.Page, q.Size)
	})
	found, more := trimPage(found, q.Size)
	return found, more, wrap("read sales", err)
}

// SaleRecord reads one sale. ErrNoRow: no such sale.
func (s Sales) SaleRecord(ctx context.Context, id shop.ID) (SaleRecord, error) {
	action := "read sale " + id.String()
	found, err := readSaleRecords(ctx, s.db, where("s.id = ?", id))
	return firstRow(action, found, wrap(action, err))
}

// LockSale reads and locks a sale until the operation ends. ErrNoRow: no such sale.
func (s Sales) LockSale(ctx context.Context, id shop.ID) (record SaleRecord, err error) {
	action := "lock sale " + id.String()
	err = s.Catalogue().edit(ctx, action, func(tx bun.Conn) error {
		if err := s.lockRow(ctx, tx, "sales", id); err != nil {
			return withLockedSale(err, id)
		}
		found, err := readSaleRecords(ctx, tx, where("s.id = ?", id))
		record, err = firstRow(action, found, err)
		return err
	})
	return record, err
}

// EmptiestPartition returns the partition with the fewest sales of a slot. If several partitions have the fewest, it
// returns the lowest number. total is the number of partitions.
func (s Sales) EmptiestPartition(ctx context.Context, slot shop.ID) (partition, total int, err error) {
	db := s.db
	partitions, err := numberSetting(ctx, db, settingPartitions)
	if err != nil {
		return 0, 0, wrap("read how many partitions there are", err)
	}
	var rows []struct {
		Part  int `bun:"part"`
		Count int `bun:"n"`
	}
	err = db.NewRaw("SELECT part, COUNT(*) AS n FROM sales WHERE slot_id = ? GROUP BY part", slot).Scan(ctx, &rows)
	if err != nil {
		return 0, 0, wrap("count the sales of slot "+slot.String(), err)
	}
	counts := make([]int, max(partitions, 1))
	for _, r := range rows {
		if r.Part < len(counts) {
			counts[r.Part] += r.Count
		}
	}
	return slices.Index(counts, slices.Min(counts)), len(counts), nil
}

// SalesByID reads the sales that exist, in no particular order.
func (s Sales) SalesByID(ctx context.Context, ids []shop.ID) ([]SaleRecord, error) {
	return byIDs(ids, func(chunk []shop.ID) ([]SaleRecord, error) {
		found, err := readSaleRecords(ctx, s.db, where("s.id IN (?)", bun.List(chunk)))
		return found, wrap("read sales", err)
	})
}
