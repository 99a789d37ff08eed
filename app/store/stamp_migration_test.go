package store_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun/dialect"

	"stampede/app"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

// F1: orders that were written before stamps were kept are there afterwards, get a stamp with their next state, and the
// way back leaves them as they were.
func TestStampsOfOrdersThatWereThere(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		folder := "../../migrations/mysql"
		if s.DB().Dialect().Name() == dialect.SQLite {
			folder = "../../migrations/sqlite"
		}
		run := func(name string) {
			t.Helper()
			text, err := os.ReadFile(folder + "/20261122000021_order_changed_at." + name + ".sql")
			if err != nil {
				t.Fatal(err)
			}
			for statement := range strings.SplitSeq(string(text), "--bun:split\n") {
				if _, err := s.DB().ExecContext(ctx, statement); err != nil {
					t.Fatal(err)
				}
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := migrations.Up(ctx, s.DB())
		must(err)
		sale := app.Sale{ID: 7, Slot: 5, Product: app.Product{ID: 6, Name: "Teapot"}, Initial: 9, Limit: 1, Cap: 9}
		must(s.EnsurePartitions(ctx, 1))
		must(s.AddSlots(ctx, []app.Slot{{ID: 5, OpensAt: 1_800_000_000_000, ClosesAt: 1_800_000_600_000}}))
		must(s.AddProducts(ctx, []app.Product{sale.Product}))
		must(s.AddSales(ctx, []app.Sale{sale}))
		must(s.MarkLoaded(ctx, sale.ID, 1, 1))
		run("down")
		o := app.Order{
			ID: 11, Sale: sale.ID, User: 12, Qty: 1, State: app.Pending, Ticket: 1, Seq: 1, Hold: 1, PayBy: 5,
		}
		_, err = s.Insert(ctx, 1, []app.Order{o})
		must(err)
		before, err := s.Order(ctx, o.ID)
		must(err)
		run("up")
		now, err := s.Clock(ctx)
		must(err)
		after, err := s.Order(ctx, o.ID)
		must(err)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
		_, err = s.Cancel(ctx, o.ID, o.User, 3)
		must(err)
		changed, _, err := s.Changed(ctx, []app.ChangesQuery{{User: o.User, Since: now.At}}, 1)
		must(err)
		if len(changed[0].Orders) != 1 || changed[0].Orders[0].State != app.Cancelled {
			t.Errorf("changed since: %+v", changed)
		}
		run("down")
		if row, err := s.Order(ctx, o.ID); err != nil || row.State != app.Cancelled {
			t.Errorf("after the way back: %+v, %v", row, err)
		}
	})
}
