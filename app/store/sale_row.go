package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// saleRow is shop.Sale with its product but without the pictures, as readSales joins it.
type saleRow struct {
	bun.BaseModel `bun:"table:sales,alias:s"`

	saleColumns
	productColumns
}

// saleColumns are what a sale has from its beginning, but for its product.
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

// productColumns are those of a product when it is joined to something else.
type productColumns struct {
	Product     shop.ID `bun:"product_id"`
	Name        string  `bun:"product_name,scanonly"`
	CategoryID  shop.ID `bun:"category_id,scanonly"`
	Category    string  `bun:"category_name,scanonly"`
	ListPrice   int64   `bun:"list_price_fen,scanonly"`
	Description string  `bun:"description,scanonly"`
	Rules       string  `bun:"rules,scanonly"`
}

func (p *productColumns) product(images map[shop.ID][]shop.Image) shop.Product {
	return shop.Product{
		ID: p.Product, Name: p.Name, Category: p.Category, CategoryID: p.CategoryID, Images: shown(images[p.Product]),
		ListPriceFen: p.ListPrice, Description: p.Description, Rules: p.Rules,
	}
}

func (r *saleRow) sale(images map[shop.ID][]shop.Image) shop.Sale {
	return shop.Sale{
		ID: r.ID, Slot: r.Slot, Partition: r.Partition, Product: r.product(images),
		PriceFen: r.PriceFen, Initial: r.Initial, Added: r.Added, Withdrawn: r.Withdrawn, Limit: r.Limit, Cap: r.Cap,
		OpensAt: r.OpensAt, ClosesAt: r.ClosesAt, Paused: r.Paused, Challenge: r.Challenge,
		Version: r.Version, Epoch: r.Epoch, Hidden: r.Hidden,
	}
}

// readSales reads sales with their products, wholly.
func readSales(ctx context.Context, db bun.IDB, narrow selection) ([]saleRow, map[shop.ID][]shop.Image, error) {
	var rows []saleRow
	err := narrow(db.NewSelect().Model(&rows).
		ColumnExpr("?TableColumns").
		ColumnExpr("p.name AS product_name, p.category_id, p.list_price_fen, p.description, p.rules").
		ColumnExpr("COALESCE(c.name, '') AS category_name").
		Join("JOIN products AS p ON p.id = s.product_id").
		Join("LEFT JOIN categories AS c ON c.id = p.category_id")).Scan(ctx)
	if err != nil {
		return nil, nil, err
	}
	images, err := readImages(ctx, db, convert(rows, func(r *saleRow) shop.ID { return r.Product }))
	return rows, images, err
}

// readSale returns the row of one sale, and the sale. ErrNoRow if there is none.
func readSale(ctx context.Context, db bun.IDB, id shop.ID) (saleRow, shop.Sale, error) {
	rows, images, err := readSales(ctx, db, where("s.id = ?", id))
	if err == nil && len(rows) == 0 {
		err = shop.ErrNoRow
	}
	if err != nil {
		return saleRow{}, shop.Sale{}, err
	}
	return rows[0], rows[0].sale(images), nil
}

func (s *Store) sales(ctx context.Context, what string, narrow selection) ([]shop.Sale, error) {
	rows, images, err := readSales(ctx, s.db, narrow)
	return convert(rows, func(r *saleRow) shop.Sale { return r.sale(images) }), wrap(what, err)
}

type imageRow struct {
	bun.BaseModel `bun:"table:product_images"`

	Product  shop.ID `bun:"product_id,pk"`
	Position int     `bun:"position,pk"`
	URL      string  `bun:"url"`
	Alt      string  `bun:"alt"`
}

// readImages reads the pictures of the products, each list in its order.
func readImages(ctx context.Context, db bun.IDB, products []shop.ID) (map[shop.ID][]shop.Image, error) {
	if len(products) == 0 {
		return nil, nil
	}
	var rows []imageRow
	err := db.NewSelect().Model(&rows).Where("product_id IN (?)", bun.List(products)).
		Order("product_id", "position").Scan(ctx)
	images := make(map[shop.ID][]shop.Image, len(products))
	for _, r := range rows {
		images[r.Product] = append(images[r.Product], shop.Image{URL: r.URL, Alt: r.Alt})
	}
	return images, err
}

// shown makes no pictures an empty list, which is what clients expect.
func shown(images []shop.Image) []shop.Image {
	if images == nil {
		return []shop.Image{}
	}
	return images
}
