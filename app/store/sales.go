package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Sales keeps sales, their terms and their stock guards.
type Sales struct{ *session }

// Sale reads one sale with its product. ErrNoRow: no such sale, or it was archived before it was loaded. An archived
// sale that was loaded is returned, because it may have orders.
func (s Sales) Sale(ctx context.Context, id shop.ID) (shop.Sale, error) {
	action := "read sale " + id.String()
	found, err := s.sales(ctx, action, allTexts, where("s.id = ? AND "+withOrders, id))
	return firstRow(action, found, err)
}

// Sales reads the sales that exist with their products, like Sale.
func (s Sales) Sales(ctx context.Context, ids []shop.ID) ([]shop.Sale, error) {
	return byIDs(ids, func(chunk []shop.ID) ([]shop.Sale, error) {
		action := fmt.Sprintf("read %d sales", len(chunk))
		return s.sales(ctx, action, allTexts, where("s.id IN (?) AND "+withOrders, bun.List(chunk)))
	})
}

// withOrders is a condition that excludes sales that were archived before they were loaded, because these sales have no
// orders.
const withOrders = "(s.archived_at = 0 OR s.epoch > 0)"

// LoadedSales lists the sales of a partition that were loaded into Redis and are not retired.
func (s Sales) LoadedSales(ctx context.Context, partition int) ([]shop.Sale, error) {
	action := fmt.Sprintf("read loaded sales of partition %d", partition)
	return s.sales(ctx, action, allTexts, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("s.part = ? AND s.retired_at = 0 AND s.epoch > 0", partition).Order("s.id")
	})
}

// UnloadedSales lists the sales of a partition that were never loaded and that are open at some time from a day before
// until a day after the given instant.
func (s Sales) UnloadedSales(ctx context.Context, partition int, at shop.Millis) ([]shop.Sale, error) {
	action := fmt.Sprintf("read sales of partition %d that were not loaded", partition)
	return s.sales(ctx, action, allTexts, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("s.part = ? AND s.retired_at = 0 AND s.epoch = 0 AND s.opens_at < ? AND s.closes_at > ?", partition,
			at.Add(24*time.Hour), at.Add(-24*time.Hour)).Order("s.id")
	})
}

// FreeUnits reads how many units the guard of each sale has left.
func (s Sales) FreeUnits(ctx context.Context, sales []shop.ID) (map[shop.ID]int64, error) {
	remaining := make(map[shop.ID]int64, len(sales))
	for chunk := range slices.Chunk(sales, idsAtOnce) {
		var rows []struct {
			ID   shop.ID `bun:"id"`
			Free int64   `bun:"free"`
		}
		err := s.db.NewRaw("SELECT id, initial + added - withdrawn - taken AS free FROM sales WHERE id IN (?)",
			bun.List(chunk)).Scan(ctx, &rows)
		if err != nil {
			return nil, wrap(fmt.Sprintf("read the free units of %d sales", len(chunk)), err)
		}
		for _, r := range rows {
			remaining[r.ID] = r.Free
		}
	}
	return remaining, nil
}

// MarkLoaded sets the epoch of a sale that was never loaded (I7). It locks the partition's row first, so that the epoch
// cannot advance meanwhile. ErrStaleEpoch: the partition or the sale has another epoch, or the sale was edited or
// archived since the caller read it. The caller must read and load it again.
func (s Sales) MarkLoaded(ctx context.Context, sale shop.ID, epoch, version int64) error {
	return s.markLoaded(ctx, sale, epoch, func(tx bun.Conn) (int64, error) {
		return exec(ctx, tx, "UPDATE sales SET epoch = ?"+
			" WHERE id = ? AND epoch IN (0, ?) AND version = ? AND archived_at = 0", epoch, sale, epoch, version)
	})
}

// RestoreLoaded is MarkLoaded for a sale that is loaded in Redis although the database has lost this fact. It restores
// the initial units. It also clears archived_at, because a loaded sale cannot be archived before its end.
func (s Sales) RestoreLoaded(ctx context.Context, sale shop.ID, epoch, version, initial int64) error {
	return s.markLoaded(ctx, sale, epoch, func(tx bun.Conn) (int64, error) {
		return exec(ctx, tx, "UPDATE sales SET epoch = ?, archived_at = 0, initial = ?"+
			" WHERE id = ? AND epoch IN (0, ?) AND version = ?", epoch, initial, sale, epoch, version)
	})
}

// markLoaded locks the row of the sale's partition, which must have the given epoch, and calls mark, which returns the
// number of matched rows.
func (s Sales) markLoaded(
	ctx context.Context, sale shop.ID, epoch int64, mark func(tx bun.Conn) (int64, error),
) error {
	return s.inTx(ctx, "mark sale "+sale.String()+" loaded", func(tx bun.Conn) error {
		var part int
		if err := tx.QueryRowContext(ctx, "SELECT part FROM sales WHERE id = ?", sale).Scan(&part); err != nil {
			return err
		}
		current, err := s.Partitions().lockPartition(ctx, tx, part)
		if err != nil {
			return err
		}
		if current != epoch {
			return fmt.Errorf("%w: partition %d is at epoch %d, not %d", shop.ErrStaleEpoch, part, current, epoch)
		}
		matched, err := mark(tx)
		if err != nil {
			return err
		}
		if matched == 0 {
			return fmt.Errorf("%w: the sale was loaded under another epoch than %d, or edited or archived meanwhile",
				shop.ErrStaleEpoch, epoch)
		}
		return nil
	})
}

// MarkRetired records that a sale's keys have left Redis permanently, if the sale still has this epoch. A repeat keeps
// the first instant. The partition keeps the sale's highest seq (I8).
func (s Sales) MarkRetired(ctx context.Context, sale shop.ID, epoch int64) error {
	return s.inTx(ctx, "mark sale "+sale.String()+" retired", func(tx bun.Conn) error {
		if err := s.Partitions().keepSeq(ctx, tx, sale); err != nil {
			return err
		}
		_, err := exec(ctx, tx, "UPDATE sales SET retired_at = ? WHERE id = ? AND epoch = ? AND retired_at = 0",
			wallClock(), sale, epoch)
		return err
	})
}

// RestoreTerms sets price, limits, window and pause of a sale to the terms t, if t has a later version. It reports
// whether it did.
func (s Sales) RestoreTerms(ctx context.Context, sale shop.ID, t shop.SaleTerms) (restored bool, err error) {
	err = s.Catalogue().edit(ctx, "restore the terms of sale "+sale.String(), func(tx bun.Conn) error {
		n, err := exec(ctx, tx, "UPDATE sales SET limit_max = "+s.d.greatest+"(limit_max, buyer_limit), price_fen = ?,"+
			" buyer_limit = ?, buyer_cap = ?, opens_at = ?, closes_at = ?, paused = ?, version = ?"+
			" WHERE id = ? AND version < ?", t.PriceFen, t.Limit, t.Cap, t.OpensAt, t.ClosesAt, t.Paused,
			t.Version, sale, t.Version)
		restored = n > 0
		return err
	})
	return restored, err
}

// RestoreAdded raises the added units of a sale to a total that was committed before a recovery, and returns the
// difference.
func (s Sales) RestoreAdded(ctx context.Context, sale shop.ID, added int64) (int64, error) {
	action := "restore the units added to sale " + sale.String()
	return inTx(ctx, s.session, action, func(tx bun.Conn) (more int64, err error) {
		var current int64
		err = tx.QueryRowContext(ctx, "SELECT added FROM sales WHERE id = ?"+s.d.forUpdate, sale).Scan(&current)
		if err != nil || current >= added {
			return 0, err
		}
		if err := execMatching(ctx, tx, 1, "raise the added units", "UPDATE sales SET added = ? WHERE id = ?", added, sale); err != nil {
			return 0, err
		}
		return added - current, nil
	})
}

// saleRow is the row of a shop.Sale with its product, without pictures and texts.
type saleRow struct {
	bun.BaseModel `bun:"table:sales,alias:s"`

	saleColumns
	productColumns
}

// saleColumns holds the columns of a new sale, without its product.
type saleColumns struct {
	ID        shop.ID        `bun:"id,pk"`
	Slot      shop.ID        `bun:"slot_id"`
	Partition int            `bun:"part"`
	PriceFen  int64          `bun:"price_fen"`
	Initial   int64          `bun:"initial"`
	Added     int64          `bun:"added"`
	Withdrawn int64          `bun:"withdrawn"`
	Taken     int64          `bun:"taken"`
	Limit     int            `bun:"buyer_limit"`
	Cap       int            `bun:"buyer_cap"`
	OpensAt   shop.Millis    `bun:"opens_at"`
	ClosesAt  shop.Millis    `bun:"closes_at"`
	Paused    bool           `bun:"paused"`
	Challenge shop.Challenge `bun:"challenge"`
	Version   int64          `bun:"version"`
	Epoch     int64          `bun:"epoch"`
	Hidden    bool           `bun:"hidden"`
}

// productColumns holds the columns of a joined product.
type productColumns struct {
	Product     shop.ID `bun:"product_id"`
	Name        string  `bun:"product_name,scanonly"`
	CategoryID  shop.ID `bun:"category_id,scanonly"`
	Category    string  `bun:"category_name,scanonly"`
	ListPrice   int64   `bun:"list_price_fen,scanonly"`
	Ships       bool    `bun:"ships,scanonly"`
	Description string  `bun:"description,scanonly"`
	Rules       string  `bun:"rules,scanonly"`
}

func (p *productColumns) product(parts *productParts) shop.Product {
	return shop.Product{
		ID: p.Product, Name: p.Name, Category: p.Category, CategoryID: p.CategoryID,
		Images:       nonNilImages(parts.images[p.Product]),
		ListPriceFen: p.ListPrice, Ships: p.Ships, Description: p.Description, Rules: p.Rules,
		Texts: parts.textsOf(p.Product, p.CategoryID),
	}
}

func (r *saleRow) sale(parts *productParts) shop.Sale {
	product := r.product(parts)
	return shop.Sale{
		ID: r.ID, Slot: r.Slot, Partition: r.Partition, Product: product, ListTexts: product.ListTexts(),
		PriceFen: r.PriceFen, Initial: r.Initial, Added: r.Added, Withdrawn: r.Withdrawn, Limit: r.Limit, Cap: r.Cap,
		OpensAt: r.OpensAt, ClosesAt: r.ClosesAt, Paused: r.Paused, Challenge: r.Challenge,
		Version: r.Version, Epoch: r.Epoch, Hidden: r.Hidden,
	}
}

// readSales reads sales with all fields of their products and the given columns of their texts.
func readSales(
	ctx context.Context, db bun.IDB, texts []string, narrow selection,
) ([]saleRow, productParts, error) {
	var rows []saleRow
	err := narrow(db.NewSelect().Model(&rows).
		ColumnExpr("?TableColumns").
		ColumnExpr("p.name AS product_name, p.category_id, p.list_price_fen, p.ships, p.description, p.rules").
		ColumnExpr("COALESCE(c.name, '') AS category_name").
		Join("JOIN products AS p ON p.id = s.product_id").
		Join("LEFT JOIN categories AS c ON c.id = p.category_id")).Scan(ctx)
	if err != nil {
		return nil, productParts{}, err
	}
	products := convert(rows, func(r *saleRow) *productColumns { return &r.productColumns })
	parts, err := readParts(ctx, db, texts, products)
	return rows, parts, err
}

// readSale returns the row of one sale and the sale. ErrNoRow: no such sale.
func readSale(ctx context.Context, db bun.IDB, id shop.ID) (saleRow, shop.Sale, error) {
	rows, parts, err := readSales(ctx, db, allTexts, where("s.id = ?", id))
	if err == nil && len(rows) == 0 {
		err = shop.ErrNoRow
	}
	if err != nil {
		return saleRow{}, shop.Sale{}, err
	}
	return rows[0], rows[0].sale(&parts), nil
}

func (s Sales) sales(
	ctx context.Context, action string, texts []string, narrow selection,
) ([]shop.Sale, error) {
	rows, parts, err := readSales(ctx, s.db, texts, narrow)
	if err != nil {
		return nil, wrap(action, err)
	}
	return convert(rows, func(r *saleRow) shop.Sale { return r.sale(&parts) }), nil
}

type imageRow struct {
	bun.BaseModel `bun:"table:product_images"`

	Product  shop.ID `bun:"product_id,pk"`
	Position int     `bun:"position,pk"`
	URL      string  `bun:"url"`
	Alt      string  `bun:"alt"`
}

// readImages reads the pictures of the products, each list in display order.
func readImages(ctx context.Context, db bun.IDB, products []shop.ID) (map[shop.ID][]shop.Image, error) {
	if len(products) == 0 {
		return nil, nil
	}
	var rows []imageRow
	err := db.NewSelect().Model(&rows).Where("product_id IN (?)", bun.List(products)).
		Order("product_id", "position").Scan(ctx)
	if err != nil {
		return nil, err
	}
	images := make(map[shop.ID][]shop.Image, len(products))
	for _, r := range rows {
		images[r.Product] = append(images[r.Product], shop.Image{URL: r.URL, Alt: r.Alt})
	}
	return images, nil
}

// nonNilImages replaces nil by an empty list, because clients expect a list.
func nonNilImages(images []shop.Image) []shop.Image {
	if images == nil {
		return []shop.Image{}
	}
	return images
}
