package store_test

import (
	"testing"

	"stampede/app/shop"
)

// P8: a restore pauses the sales that are not over, until the gateway's lists are compared. A sale that was paused
// before stays paused. A second restore waits again.
func TestRestoredSalesWaitForTheLists(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		restored := h.Store.RestoredSales()
		exec := func(query string, args ...any) {
			t.Helper()
			h.must(errOf(h.DB().ExecContext(h.ctx, query, args...)))
		}
		all := h.countRows("sales")
		exec("UPDATE sales SET paused = 1 WHERE id = ?", h.sales[0])
		exec("UPDATE sales SET closes_at = ? WHERE id = ?", opens, h.sales[1])
		resumed := func(listed shop.Millis, want int64) {
			t.Helper()
			exec("UPDATE history SET listed_until = ?", listed)
			if n := val(restored.Resume(h.ctx))(t); n != want {
				t.Errorf("lists until %d: got %d resumed sales, want %d", listed, n, want)
			}
		}
		for _, now := range []shop.Millis{opens, opens + 5} {
			if n := val(restored.Pause(h.ctx, now))(t); n != all-2 {
				t.Errorf("%d sales are paused, want %d", n, all-2)
			}
			resumed(now-1, 0)
		}
		resumed(opens+5, int64(all-2))
		resumed(opens+6, 0)
		if n := h.countRows("sales WHERE paused = 1"); n != 1 {
			t.Errorf("%d sales are paused, want the one that was paused before", n)
		}
	}, 10, 10, 10, 10)
}
