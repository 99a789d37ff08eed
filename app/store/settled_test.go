package store_test

import (
	"context"
	"sync/atomic"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// closedAt is the closing time of old sales.
const closedAt shop.Millis = 1_700_000_000_000

// closeLongAgo changes a sale so that it closed long ago and has left Redis.
func (s *testShop) closeLongAgo(sale shop.ID) {
	s.t.Helper()
	s.must(s.MarkRetired(s.ctx, sale, s.epoch))
	s.must(errOf(s.DB().ExecContext(s.ctx, "UPDATE sales SET closes_at = ? WHERE id = ?", closedAt, sale)))
}

// settleAll clears all pending publications, postings, emails and checks, and sets the last change of all orders to a
// time shortly after closedAt.
func (s *testShop) settleAll() {
	s.t.Helper()
	for _, statement := range []string{
		"UPDATE orders SET unpublished_since = NULL, changed_at = changed_at", "UPDATE outbox SET next_at = NULL",
		"UPDATE trades SET check_at = NULL", "UPDATE shipments SET mail_at = NULL",
	} {
		s.must(errOf(s.DB().ExecContext(s.ctx, statement)))
	}
	s.setChangedAtWhere("id > ?", "?", closedAt+1, 0)
}

func (s *testShop) countRows(table string) (n int) {
	s.t.Helper()
	s.must(s.DB().NewRaw("SELECT COUNT(*) FROM "+table).Scan(s.ctx, &n))
	return n
}

func (s *testShop) finished(sale shop.ID) shop.Order {
	s.t.Helper()
	o := s.paid(sale, 1)
	s.ship(shippingOptions, parcel(o.ID))
	_, _, err := s.ConfirmReceipt(s.ctx, o.ID, o.User, opens+90)
	s.must(err)
	return o
}

func (s *testShop) refunded(sale shop.ID) shop.Order {
	s.t.Helper()
	o := s.paid(sale, 1)
	_, err := s.RequestRefund(s.ctx, payment.BuyerRefundRequest{Order: o.ID, User: o.User, Text: "it is for my aunt Mei", At: opens})
	s.must(err)
	s.must(errOf(s.DecideRefund(s.ctx, payment.RefundDecision{Order: o.ID, By: 7, Approved: true, At: opens})))
	s.must(errOf(s.FinishRefund(s.ctx, o.ID, opens)))
	return o
}

func (s *testShop) cancelled(sale shop.ID) shop.Order {
	s.t.Helper()
	o := s.order(sale, 1)
	s.insert(o)
	s.must(errOf(s.Cancel(s.ctx, o.ID, o.User, opens)))
	return o
}

// queryKiller cancels a context at a query, before the query reaches the server. The database must then end the
// transaction, as after the crash of a process.
type queryKiller struct {
	at   atomic.Int64 // number of queries until the kill; 0: disabled
	die  context.CancelFunc
	last string
}

func (k *queryKiller) BeforeQuery(ctx context.Context, q *bun.QueryEvent) context.Context {
	if k.at.Load() > 0 && k.at.Add(-1) == 0 {
		k.last = q.Query
		k.die()
	}
	return ctx
}

func (k *queryKiller) AfterQuery(context.Context, *bun.QueryEvent) {}

// killAtEach runs fn again and again, and kills it at its first, second, … query, until a run is shorter. Each run ends
// with after, which gets the killed query, or "" after the last run.
func (k *queryKiller) killAtEach(
	h *testShop, fn func(ctx context.Context) error, after func(killedAt string, err error),
) {
	h.t.Helper()
	for n := int64(1); n < 1000; n++ {
		ctx, die := context.WithCancel(h.ctx)
		k.die = die
		k.at.Store(n)
		err := fn(ctx)
		completed := k.at.Swap(0) > 0
		die()
		if completed {
			after("", err)
			return
		}
		after(k.last, err)
	}
	h.t.Fatal("the loop does not end")
}
