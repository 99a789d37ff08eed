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
func (h *testShop) closeLongAgo(sale shop.ID) {
	h.t.Helper()
	h.must(h.MarkRetired(h.ctx, sale, h.epoch))
	h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE sales SET closes_at = ? WHERE id = ?", closedAt, sale)))
}

// settleAll clears all pending publications, postings, emails and checks, and sets the last change of all orders to a
// time shortly after closedAt.
func (h *testShop) settleAll() {
	h.t.Helper()
	for _, statement := range []string{
		"UPDATE orders SET unpublished_since = NULL, changed_at = changed_at", "UPDATE outbox SET next_at = NULL",
		"UPDATE trades SET check_at = NULL", "UPDATE shipments SET mail_at = NULL",
	} {
		h.must(errOf(h.DB().ExecContext(h.ctx, statement)))
	}
	h.setChangedAtWhere("id > ?", "?", closedAt+1, 0)
}

func (h *testShop) countRows(table string) (n int) {
	h.t.Helper()
	h.must(h.DB().NewRaw("SELECT COUNT(*) FROM "+table).Scan(h.ctx, &n))
	return n
}

func (h *testShop) finished(sale shop.ID) shop.Order {
	h.t.Helper()
	o := h.paid(sale, 1)
	h.ship(shippingOptions, parcel(o.ID))
	_, _, err := h.ConfirmReceipt(h.ctx, o.ID, o.User, opens+90)
	h.must(err)
	return o
}

func (h *testShop) refunded(sale shop.ID) shop.Order {
	h.t.Helper()
	o := h.paid(sale, 1)
	_, err := h.RequestRefund(h.ctx, payment.BuyerRefundRequest{Order: o.ID, User: o.User, Text: "it is for my aunt Mei", At: opens})
	h.must(err)
	h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, Approved: true, At: opens})))
	h.must(errOf(h.FinishRefund(h.ctx, o.ID, opens)))
	return o
}

func (h *testShop) cancelled(sale shop.ID) shop.Order {
	h.t.Helper()
	o := h.order(sale, 1)
	h.insert(o)
	h.must(errOf(h.Cancel(h.ctx, o.ID, o.User, opens)))
	return o
}

// queryKiller cancels a context at a query, before the query reaches the server. The database must then end the
// transaction, as after the crash of a process.
type queryKiller struct {
	at   atomic.Int64 // number of queries until the kill; 0: disabled
	die  context.CancelFunc
	last string
}

func (d *queryKiller) BeforeQuery(ctx context.Context, q *bun.QueryEvent) context.Context {
	if d.at.Load() > 0 && d.at.Add(-1) == 0 {
		d.last = q.Query
		d.die()
	}
	return ctx
}

func (d *queryKiller) AfterQuery(context.Context, *bun.QueryEvent) {}

// killAtEach runs fn again and again, and kills it at its first, second, … query, until a run is shorter. Each run ends
// with after, which gets the killed query, or "" after the last run.
func (d *queryKiller) killAtEach(
	h *testShop, fn func(ctx context.Context) error, after func(killedAt string, err error),
) {
	h.t.Helper()
	for n := int64(1); n < 1000; n++ {
		ctx, die := context.WithCancel(h.ctx)
		d.die = die
		d.at.Store(n)
		err := fn(ctx)
		completed := d.at.Swap(0) > 0
		die()
		if completed {
			after("", err)
			return
		}
		after(d.last, err)
	}
	h.t.Fatal("the loop does not end")
}
