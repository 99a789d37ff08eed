package demo

import (
	"context"
	"fmt"

	"stampede/app/shop"
)

const bulkBatch = 2000

// Bulk adds n products for size tests, named by a running number, and calls progress after each batch.
func (s *Seeder) Bulk(ctx context.Context, n int, progress func(done int)) error {
	if err := s.categories(ctx, []shop.Category{{ID: bulk, Name: "Bulk test data"}}); err != nil {
		return err
	}
	for done := 0; done < n; {
		batch := make([]shop.Product, min(bulkBatch, n-done))
		for i := range batch {
			var err error
			if batch[i], err = s.bulkProduct(done + i); err != nil {
				return err
			}
		}
		if err := s.Store.Catalogue().AddProducts(ctx, batch); err != nil {
			return fmt.Errorf("add products %d to %d: %w", done+1, done+len(batch), err)
		}
		done += len(batch)
		progress(done)
	}
	return nil
}

// bulkProduct returns a copy of a demo product with its own name and price.
func (s *Seeder) bulkProduct(i int) (shop.Product, error) {
	id, err := s.Mint()
	if err != nil {
		return shop.Product{}, fmt.Errorf("mint product id: %w", err)
	}
	product := offers[i%len(offers)].product
	product.ID, product.CategoryID = id, bulk
	product.Texts = nil // the names in further languages have no number
	product.Name = fmt.Sprintf("%s no. %06d", product.Name, i+1)
	product.ListPriceFen += int64(i%100) * 100
	return product, nil
}
