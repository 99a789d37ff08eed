package server

import (
	"context"
	"log/slog"
	"time"

	"stampede/app/backoffice"
	"stampede/app/markup"
	"stampede/app/picture"
	"stampede/app/shop"
)

// catalogueDesk is where operators say what is offered.
func (p *parts) catalogueDesk(c *Config) *backoffice.CatalogueDesk {
	return &backoffice.CatalogueDesk{
		Acts: p.shop.Journal, Store: p.stores.db, MakeImage: picture.NewMaker().Make, Clean: markup.Clean,
		Mint: p.lease.Mint, Now: p.clock.Now, Zone: c.TimeZone.Location,
		OnSale: func(ctx context.Context, sales []shop.ID) { p.shop.Tell(ctx, sales...) },
	}
}

// picturesKept is how long pictures wait for a product that shows them.
const picturesKept = 24 * time.Hour

// forgetUnusedPictures removes what was uploaded and is shown by nothing.
func (p *parts) forgetUnusedPictures(ctx context.Context) error {
	return shop.Repeat(ctx, forgetEvery, "remove pictures that no product shows", func(ctx context.Context) error {
		removed, err := p.stores.db.RemoveUnusedImages(ctx, p.clock.Now().Add(-picturesKept))
		if removed > 0 {
			slog.InfoContext(ctx, "removed pictures that no product shows", "pictures", removed)
		}
		return err
	})
}
