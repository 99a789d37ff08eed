package server

import (
	"context"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/bits-and-blooms/bloom/v3"

	"stampede/app/backoffice"
	"stampede/app/catalog"
	"stampede/app/markup"
	"stampede/app/picture"
	"stampede/app/shop"
)

// catalogueService returns the service with which operators edit the catalogue.
func (p *parts) catalogueService(c *Config) *backoffice.CatalogueService {
	return &backoffice.CatalogueService{
		Store: p.stores.db, MakeImage: picture.NewMaker().Make, Clean: markup.Clean,
		Mint: p.lease.Mint, Now: p.clock.Now, Zone: c.TimeZone.Location,
		OnSale: func(ctx context.Context, sales []shop.ID) { p.services.sales.PushTerms(ctx, sales...) },
	}
}

// pictureLife is how long an uploaded picture is kept while no product shows it.
const pictureLife = 24 * time.Hour

// removeUnusedPictures deletes uploaded pictures that no product shows.
func (p *parts) removeUnusedPictures(ctx context.Context) error {
	return shop.Repeat(ctx, removeInterval, "remove pictures that no product shows", func(ctx context.Context) error {
		removed, err := p.stores.db.Images().RemoveUnusedImages(ctx, p.clock.Now().Add(-pictureLife))
		if removed > 0 {
			slog.InfoContext(ctx, "removed pictures that no product shows", "pictures", removed)
		}
		return err
	})
}

// falsePositiveRate is the fraction of unknown sale ids that pass the filter and cause a database read.
const falsePositiveRate = 0.001

// newIDFilter returns a Bloom filter of all sale ids.
func newIDFilter(ids []shop.ID) catalog.IDFilter {
	bits := bloom.NewWithEstimates(uint(max(len(ids), 1024)), falsePositiveRate)
	for _, id := range ids {
		bits.Add(idBytes(id))
	}
	return func(id shop.ID) bool { return bits.Test(idBytes(id)) }
}

func idBytes(id shop.ID) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(id)) }
