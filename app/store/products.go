package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// Products pages through the products that are not archived, in the order of their ids, without description and rules.
func (s *Store) Products(ctx context.Context, category app.ID, page, size int) ([]app.Product, bool, error) {
	found, err := s.products(ctx, "read products", func(q *bun.SelectQuery) *bun.SelectQuery {
		q = q.Where("p.archived_at = 0")
		q = whereSet(q, "p.category_id = ?", category)
		return turnTo(q.Order("p.id"), page, size)
	})
	found, more := cut(found, size)
	for i := range found {
		found[i].Description, found[i].Rules = "", ""
	}
	return found, more, err
}

// Product reads one product with description and rules. ErrNoRow if there is none.
func (s *Store) Product(ctx context.Context, id app.ID) (app.Product, error) {
	what := "read product " + id.String()
	found, err := s.products(ctx, what, where("p.id = ?", id))
	return only(what, found, err)
}

func (s *Store) products(ctx context.Context, what string, narrow selection) ([]app.Product, error) {
	found, err := readProductRecords(ctx, s.db, narrow)
	return convert(found, func(p *app.ProductRecord) app.Product { return p.Product }), wrap(what, err)
}
