package store_test

import (
	"slices"
	"testing"

	"github.com/uptrace/bun/dialect"

	"stampede/app/shop"
	"stampede/app/store"
)

// longAgo is before every changed_at of a test, and later than SQLite's 0.
const longAgo shop.Millis = 1_600_000_000_000

// setChangedAt sets changed_at of a row.
func (s *testShop) setChangedAt(order shop.ID, at shop.Millis) {
	s.setChangedAtWhere("id = ?", "?", at, order)
}

// setChangedAtWhere sets changed_at of all rows that match the condition. instant is an expression, whose argument
// comes first.
func (s *testShop) setChangedAtWhere(condition, instant string, args ...any) {
	s.t.Helper()
	if s.DB().Dialect().Name() != dialect.SQLite {
		instant = "FROM_UNIXTIME((" + instant + ") / 1000)"
	}
	s.must(errOf(s.DB().ExecContext(s.ctx, "UPDATE orders SET changed_at = "+instant+" WHERE "+condition, args...)))
}

// changedOrders reads the user's orders that changed at or after the given instant.
func (s *testShop) changedOrders(user shop.ID, since shop.Millis) []shop.Order {
	s.t.Helper()
	got, _, err := s.Changed(s.ctx, []shop.ChangesQuery{{User: user, Since: since}}, 100)
	s.must(err)
	return got[0].Orders
}

func (s *testShop) clock() shop.Instant {
	s.t.Helper()
	now := val(s.Store.Clock(s.ctx))(s.t)
	return now
}

// F2: Touch sets changed_at of rows in any state and returns their current versions. Missing rows are omitted.
func TestTouchReturnsExistingOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 2000)
		many := h.orders(1100, h.sales[0], 1) // more than fit into a statement
		for i := range many {
			many[i].User = many[0].User
		}
		h.insert(many...)
		h.must(errOf(h.Cancel(h.ctx, many[7].ID, many[7].User, payBy)))
		untouched := pendingOrder(h)
		h.setChangedAt(untouched.ID, longAgo)
		requested := append(ids(many), many[3].ID, 4242, 4243)
		slices.Reverse(requested)
		before := h.clock().At
		got := val(h.Touch(h.ctx, requested))(h.t)
		wantEqual(t, "(-want +got)", ids(many), ids(got))
		for i := range got {
			if !got[i].Touched {
				t.Fatalf("order %s is not touched", got[i].ID)
			}
		}
		if got[7].State != shop.Cancelled || got[7].Rev != 2 {
			t.Errorf("Touch: got state %s and rev %d, want both unchanged", got[7].State, got[7].Rev)
		}
		queries := []shop.ChangesQuery{since(many[0].User, before), since(untouched.User, longAgo+1)}
		all, _, err := h.Changed(h.ctx, queries, len(many))
		h.must(err)
		if len(all[0].Orders) != len(many) || all[0].More || len(all[1].Orders) != 0 {
			t.Errorf("got %d touched rows, want %d; %d of another buyer", len(all[0].Orders), len(many),
				len(all[1].Orders))
		}
		if got, err := h.Touch(h.ctx, []shop.ID{4242}); err != nil || len(got) != 0 {
			t.Errorf("missing orders: got %v (%v), want none", got, err)
		}
		if got, err := h.Touch(h.ctx, nil); err != nil || len(got) != 0 {
			t.Errorf("without ids: got %v (%v), want none", got, err)
		}
	})
}

// F2: after a recovery only rows that may be unpublished are touched. Older rows stay as they are.
func TestTouchSinceSkipsOlderRows(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		rows := h.orders(3, h.sales[0], 1)
		for i := range rows {
			rows[i].User = rows[0].User
		}
		h.insert(rows...)
		for i := range rows {
			h.setChangedAt(rows[i].ID, longAgo+shop.Millis(i))
		}
		before := h.clock().At
		h.must(h.TouchSince(h.ctx, append(ids(rows), 4242), longAgo+1))
		got := ids(h.changedOrders(rows[0].User, before))
		slices.Sort(got)
		wantEqual(t, "(-want +got)", ids(rows[1:]), got)
		if got := h.changedOrders(rows[0].User, longAgo); len(got) != 3 {
			t.Errorf("got %d touched rows, want 3", len(got))
		}
		if row := h.read(rows[1].ID); row.Rev != 1 || row.State != shop.Pending {
			t.Errorf("got state %s at rev %d, want both unchanged", row.State, row.Rev)
		}
		h.must(h.TouchSince(h.ctx, nil, 0))
	}, 100)
}
