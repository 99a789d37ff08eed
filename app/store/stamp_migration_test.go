package store_test

import (
	"os"
	"strings"
	"testing"

	"github.com/uptrace/bun/dialect"

	"stampede/app"
)

// F1: orders that were written before stamps were kept are there afterwards, get a stamp with their next state, and the
// way back leaves them as they were.
func TestStampsOfOrdersThatWereThere(t *testing.T) {
	inShops(t, func(t *testing.T, h *shop) {
		folder := "../../migrations/mysql"
		if h.DB().Dialect().Name() == dialect.SQLite {
			folder = "../../migrations/sqlite"
		}
		run := func(name string) {
			t.Helper()
			text := val(os.ReadFile(folder + "/20261122000021_order_changed_at." + name + ".sql"))(t)
			for statement := range strings.SplitSeq(string(text), "--bun:split\n") {
				h.must(errOf(h.DB().ExecContext(h.ctx, statement)))
			}
		}
		run("down")
		o := h.order(h.sales[0], 1)
		h.must(errOf(h.Insert(h.ctx, h.epoch, []app.Order{o})))
		before := h.read(o.ID)
		run("up")
		now := h.clock()
		same(t, "(-before +after)", before, h.read(o.ID))
		h.must(errOf(h.Cancel(h.ctx, o.ID, o.User, 3)))
		if changed := h.changed(o.User, now.At); len(changed) != 1 || changed[0].State != app.Cancelled {
			t.Errorf("changed since: %+v", changed)
		}
		run("down")
		if row := h.read(o.ID); row.State != app.Cancelled {
			t.Errorf("after the way back: %+v", row)
		}
	}, 9)
}
