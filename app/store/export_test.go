package store

import (
	"context"

	"github.com/uptrace/bun"
)

// HookQueries installs the hook around each later query.
func (s *Store) HookQueries(hook bun.QueryHook) {
	s.conns = s.conns.WithQueryHook(hook)
	s.db = s.conns
}

// InTx runs fn in a transaction.
func InTx(ctx context.Context, s *Store, fn func() error) error {
	return s.inTx(ctx, "try", func(bun.Conn) error { return fn() })
}

// ExplainOrders returns the statement of a search.
func ExplainOrders(s *Store, q OrderSearch) string {
	return findOrders(s.db.NewSelect().Model((*orderRow)(nil)), q).String()
}

// ExplainUsers returns the statement of a search.
func ExplainUsers(s *Store, q UserSearch) string {
	return findUsers(s.db.NewSelect().Model((*userRow)(nil)), q).String()
}

// ExplainPayments returns the statement of a search.
func ExplainPayments(s *Store, q PaymentSearch) string {
	return findPayments(s.db.NewSelect().Model((*paymentRow)(nil)), q).String()
}
