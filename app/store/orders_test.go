package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
)

func TestOrdersOfUserPageNewestFirst(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		user := nextID()
		var mine []shop.ID // newest first
		for i := range 7 {
			o := h.order(h.sales[i%2], 1)
			o.User = user
			h.insert(o, h.order(h.sales[0], 1))
			mine = append([]shop.ID{o.ID}, mine...)
		}
		first, more, err := h.OrdersOf(h.ctx, shop.OrdersQuery{User: user, Limit: 4})
		h.must(err)
		if diff := cmp.Diff(mine[:4], ids(first)); diff != "" || !more {
			t.Errorf("first page, more %v (-want +got):\n%s", more, diff)
		}
		rest, more, err := h.OrdersOf(h.ctx, shop.OrdersQuery{User: user, Before: mine[3], Limit: 3})
		h.must(err)
		if diff := cmp.Diff(mine[4:], ids(rest)); diff != "" || more {
			t.Errorf("last page, more %v (-want +got):\n%s", more, diff)
		}
		ofSale, _, err := h.OrdersOf(h.ctx, shop.OrdersQuery{User: user, Sale: h.sales[1], Limit: 100})
		h.must(err)
		if len(ofSale) != 3 {
			t.Errorf("got %d orders of one sale", len(ofSale))
		}
	}, 100, 100)
}

func TestOrdersOfSalePagesForward(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		var all []shop.ID
		for _, in := range h.insert(append(h.orders(7, h.sales[0], 1), h.orders(3, h.sales[1], 1)...)...)[:7] {
			all = append(all, in.Order.ID)
		}
		var seen []shop.ID
		for after := shop.ID(0); ; {
			page := val(h.OrdersOfSale(h.ctx, h.sales[0], after, 3))(h.t)
			if len(page) == 0 {
				break
			}
			seen = append(seen, ids(page)...)
			after = page[len(page)-1].ID
		}
		wantEqual(t, "(-want +got)", all, seen)
	}, 100, 100)
}

// P6, F3: an order stays unpublished until its newest state is published. A new row is not listed, because its entry is
// not acknowledged before it is published.
func TestOrderStaysUnpublishedUntilItsNewestState(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		rows := h.insert(h.orders(3, h.sales[0], 1)...)
		later := shop.MillisOf(time.Now()).Add(time.Minute)
		unpublished := func() []shop.ID {
			t.Helper()
			got := val(h.Unpublished(h.ctx, later, 100))(h.t)
			out := ids(got)
			slices.Sort(out)
			return out
		}
		if remaining := unpublished(); len(remaining) != 0 {
			t.Errorf("new rows: got unpublished orders %v, want none", remaining)
		}
		expired := val(h.Expire(h.ctx, []shop.ID{rows[0].Order.ID, rows[1].Order.ID}, payBy))(h.t)
		if n := len(unpublished()); n != 2 {
			t.Errorf("got %d unpublished orders, want the two expired ones", n)
		}
		h.must(h.MarkPublished(h.ctx, []*shop.Order{&rows[0].Order, &expired[1]})) // of one order only an earlier state
		wantEqual(t, "(-want +got)", []shop.ID{rows[0].Order.ID}, unpublished())
		if got, err := h.Unpublished(h.ctx, later.Add(-time.Hour), 100); err != nil || len(got) != 0 {
			t.Errorf("got %d orders unpublished for an hour (%v)", len(got), err)
		}
		h.must(h.MarkPublished(h.ctx, []*shop.Order{&expired[0]}))
		h.must(h.MarkPublished(h.ctx, []*shop.Order{&rows[0].Order})) // an old state, late
		if remaining := unpublished(); len(remaining) != 0 {
			t.Errorf("got unpublished orders %v, want none", remaining)
		}
		if o := h.read(rows[0].Order.ID); o.PublishedRev != 2 {
			t.Errorf("got published_rev %d, want 2", o.PublishedRev)
		}
	}, 100)
}

func TestOverdueListsPendingOrders(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		rows := h.orders(4, h.sales[0], 1)
		rows[0].PayBy, rows[1].PayBy, rows[2].PayBy = payBy-1, payBy-2, payBy
		rows[3].PayBy, rows[3].State = payBy-9, shop.Cancelled
		h.insert(rows...)
		got := val(h.Overdue(h.ctx, payBy, 10))(h.t)
		wantEqual(t, "(-want +got)", []shop.ID{rows[1].ID, rows[0].ID}, ids(got))
		part := got[0].Partition
		for but, want := range map[int]int{part: 0, part + 1: 2} {
			if got, err := h.Overdue(h.ctx, payBy, 10, but); err != nil || len(got) != want {
				t.Errorf("Overdue without partition %d: got %v (%v), want %d orders", but, ids(got), err, want)
			}
			if got, err := h.Unpublished(
				h.ctx, shop.Millis(1)<<42, 10, but,
			); err != nil || len(got) > 0 && but == part {
				t.Errorf("Unpublished without partition %d: got %v (%v)", but, ids(got), err)
			}
		}
	}, 100)
}
