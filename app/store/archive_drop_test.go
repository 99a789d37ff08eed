package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"stampede/app"
	"stampede/app/snowflake"
	"stampede/app/store"
)

// inMonth gives orders ids of a month, the next ones from there.
func inMonth(m app.Month, n int) app.ID { return snowflake.First(m.Start()) + app.ID(n) }

// Months are made ahead, once; each order is in the partition of its month, and dropping the oldest ones leaves the
// others, with the money and sums of what is gone.
func TestMonthsOfTheArchive(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100)
		sale := h.sales[0]
		const first app.Month = 202602
		var kept, gone []app.ID
		for i, month := range []app.Month{first, first, first.Next(), first.Next().Next()} {
			o := h.order(sale, 1)
			o.ID = inMonth(month, i)
			h.insert(o)
			h.wantReceived(app.Trade{
				Order: o.ID, No: "T" + o.ID.String(), State: app.TradePaid, AmountFen: o.AmountFen,
			}, app.PaymentTaken, app.Paid)
			h.ship(sending, parcel(o.ID))
			_, _, err := h.ConfirmReceipt(h.ctx, o.ID, o.User)
			h.must(err)
			if month < first.Next().Next() {
				gone = append(gone, o.ID)
			} else {
				kept = append(kept, o.ID)
			}
		}
		h.quiet()
		h.close(sale)
		now := h.clock().At
		for range 2 {
			if moved := h.archive(sale, 3); moved+h.count("orders_archive") == 0 {
				t.Fatal("nothing moved")
			}
		}
		if made, err := h.MakeMonths(h.ctx, now); err != nil || len(made) != 0 {
			t.Errorf("made again: %v (%v)", made, err)
		}
		before := h.totals(sale)
		before.MaxSeq, before.MaxTicket = 4, 4

		for _, dry := range []bool{true, true, false} {
			months, err := h.PlanDrop(h.ctx, first.Next().Next(), now, dry)
			h.must(err)
			if len(months) != 2 || months[0].Month != first || months[0].Orders != 2 || months[1].Orders != 1 ||
				months[0].PaidFen != 9800 || months[0].Sales != 1 {
				t.Errorf("dry %v: %+v", dry, months)
			}
			if h.count("orders_archive") != 4 {
				t.Error("planning has dropped something")
			}
		}
		h.wantTaken(sale, 4) // what is planned still counts by itself, once
		dropped, err := h.dropAll(h.ctx, 1)
		h.must(err)
		if dropped != 3 || h.count("orders_archive") != 1 || h.count("shipments") != 1 || h.count("payments") != 4 {
			t.Errorf("dropped %v; %d orders, %d parcels, %d payments", dropped, h.count("orders_archive"),
				h.count("shipments"), h.count("payments"))
		}
		found, err := h.OrdersByID(h.ctx, append(gone, kept...))
		h.must(err)
		if len(found) != 1 || found[0].ID != kept[0] {
			t.Errorf("left are %v", ids(found))
		}
		after := h.totals(sale)
		if after.Orders != 4 || after.SoldUnits != before.SoldUnits || after.Taken != before.Taken ||
			after.MaxSeq != before.MaxSeq || after.MaxTicket != before.MaxTicket || after.Moneyless != 0 {
			t.Errorf("totals %+v, before %+v", after, before)
		}
		sums, err := h.SumUp(h.ctx, sale, opens, opens+120_000)
		h.must(err)
		if sums.Dropped != 3 || sums.Money.PaidFen != 4*4900 {
			t.Errorf("sums %+v", sums)
		}
		h.wantReceived(app.Trade{
			Order: gone[0], No: "T" + gone[0].String(), State: app.TradePaid, AmountFen: 4900,
		}, app.PaymentTaken, "")
		state, err := h.ArchiveState(h.ctx, now, now, now)
		h.must(err)
		if state.Orders != 1 || state.MonthsToDrop != 0 {
			t.Errorf("state %+v", state)
		}
		if again, err := h.dropAll(h.ctx, 1); err != nil || again != 0 {
			t.Errorf("dropped again: %v (%v)", again, err)
		}
	})
}

// dropping is a shop with one sale that closed long ago, and its archived orders in the first of two months.
func dropping(t *testing.T, s *store.Store, n int) (h *shop, all []app.ID, before app.Month) {
	t.Helper()
	h = newShop(t, s, 100)
	const month app.Month = 202602
	for i := range n {
		o := h.order(h.sales[0], 1)
		o.ID = inMonth(month, i)
		h.insert(o)
		h.wantReceived(app.Trade{
			Order: o.ID, No: "T" + o.ID.String(), State: app.TradePaid, AmountFen: o.AmountFen,
		}, app.PaymentTaken, app.Paid)
		h.ship(sending, parcel(o.ID))
		_, _, err := h.ConfirmReceipt(h.ctx, o.ID, o.User)
		h.must(err)
		all = append(all, o.ID)
	}
	h.quiet()
	h.close(h.sales[0])
	if moved := h.archive(h.sales[0], 50); moved != n {
		t.Fatalf("%d moved", moved)
	}
	return h, all, month.Next()
}

// dropAll drops the months that are planned, in steps of so many orders, and answers how many that were.
func (h *shop) dropAll(ctx context.Context, limit int) (orders int64, err error) {
	for {
		step, err := h.DropSome(ctx, h.clock().At, limit)
		if err != nil || step.Month == 0 {
			return orders, err
		}
		for _, sums := range step.Sums {
			orders += sums.Orders
		}
	}
}

// wantAll checks that the sale balances, with each order counted once, by itself or among those that were dropped, and
// with its money.
func (h *shop) wantAll(when string, n int64) {
	h.t.Helper()
	t := h.totals(h.sales[0])
	if t.Orders != n || t.SoldUnits != n || t.Taken != n || t.Moneyless != 0 {
		h.t.Errorf("%s: %+v, want %d orders", when, t, n)
	}
	sums, err := h.SumUp(h.ctx, h.sales[0], opens, opens+120_000)
	h.must(err)
	if sums.Money.PaidFen != n*4900 {
		h.t.Errorf("%s: %d fen paid, want %d", when, sums.Money.PaidFen, n*4900)
	}
}

// I5: an order that is brought back when its month was planned stays, and is not counted among those that go.
func TestOrderComesBackBeforeItsMonthIsDropped(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h, all, before := dropping(t, s, 3)
		months, err := h.PlanDrop(h.ctx, before, h.clock().At, false)
		h.must(err)
		if len(months) != 1 || months[0].Orders != 3 {
			t.Fatalf("planned are %+v", months)
		}
		h.must(errOf(h.Restamp(h.ctx, all[:1])))
		h.wantAll("planned", 3)
		dropped, err := h.dropAll(h.ctx, 10)
		h.must(err)
		if dropped != 2 {
			t.Errorf("%d dropped", dropped)
		}
		h.wantAll("dropped", 3)
		if h.count("orders") != 1 || h.count("orders_archive") != 0 || h.count("shipments") != 1 ||
			h.count("trades") > 1 {
			t.Errorf("%d orders, %d archived, %d parcels, %d trades", h.count("orders"), h.count("orders_archive"),
				h.count("shipments"), h.count("trades"))
		}
	})
}

// during calls do at the first query that begins so, before it reaches the server.
type during struct {
	query string
	do    func()
}

func (d *during) BeforeQuery(ctx context.Context, q *bun.QueryEvent) context.Context {
	if do := d.do; do != nil && strings.HasPrefix(q.Query, d.query) {
		d.do = nil
		do()
	}
	return ctx
}

func (d *during) AfterQuery(context.Context, *bun.QueryEvent) {}

// I5: the same between any two transactions of the dropping, which dies at each of its statements; what went is not
// counted twice, and what came back keeps its parcel.
func TestDroppingDiesAtEachStatement(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		d := &death{}
		s.HookQueries(d)
		const n = 12
		h, all, before := dropping(t, s, n)
		h.must(errOf(h.PlanDrop(h.ctx, before, h.clock().At, false)))
		back := 0
		for at := int64(1); ; at++ {
			ctx, die := context.WithCancel(h.ctx)
			d.die = die
			d.at.Store(at)
			_, err := h.dropAll(ctx, 3)
			done := d.at.Swap(0) > 0
			die()
			h.wantAll("died at "+d.last, n)
			if done && err == nil {
				break
			}
			if at%5 == 0 { // the newest one, which goes last
				var left []app.ID
				h.must(h.DB().NewRaw("SELECT id FROM orders_archive ORDER BY id DESC LIMIT 1").Scan(h.ctx, &left))
				rows, err := h.Restamp(h.ctx, left)
				h.must(err)
				back += len(rows)
				h.wantAll("brought back", n)
			}
			if at > 1000 {
				t.Fatal("it never ends")
			}
		}
		if back == 0 || back == n || h.count("orders") != back || h.count("shipments") != back ||
			h.count("orders_archive") != 0 {
			t.Errorf("%d came back; %d orders, %d parcels, %d archived", back, h.count("orders"), h.count("shipments"),
				h.count("orders_archive"))
		}
		for _, id := range all {
			if _, err := h.Restamp(h.ctx, []app.ID{id}); err != nil {
				t.Error(err)
			}
		}
		h.wantAll("long after", n)
	})
}

// I5: an order comes back between the statements of the transaction that drops it: before its lock it stays, after it
// is gone, and is counted once in either case.
func TestOrderComesBackWhileItIsDropped(t *testing.T) {
	t.Parallel()
	for _, at := range []string{
		"SELECT id FROM orders_archive", "SELECT sale_id", "DELETE FROM orders_archive", "COMMIT",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := onMariaDB(t)
			h, all, before := dropping(t, s, 3)
			h.must(errOf(h.PlanDrop(h.ctx, before, h.clock().At, false)))
			locked := at != "SELECT id FROM orders_archive"
			came := make(chan []app.Order, 1)
			back := func() {
				rows, err := s.Restamp(h.ctx, all[1:2])
				if err != nil {
					t.Error(err)
				}
				came <- rows
			}
			s.HookQueries(&during{query: at, do: func() {
				if locked { // it waits for who drops
					go back()
				} else {
					back()
				}
			}})
			h.must(errOf(h.dropAll(h.ctx, 10)))
			if rows := <-came; (len(rows) == 1) == locked {
				t.Errorf("%v came back", ids(rows))
			}
			h.wantAll("dropped", 3)
			want := 0
			if !locked {
				want = 1
			}
			if h.count("orders") != want || h.count("orders_archive") != 0 {
				t.Errorf("%d orders, %d archived", h.count("orders"), h.count("orders_archive"))
			}
		})
	}
}

// I1: nothing moves into a month that is about to be dropped. A month that was dropped once takes orders again, and may
// go once more; its sums are those of both times.
func TestMonthIsDroppedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h, all, before := dropping(t, s, 3)
		sale, now := h.sales[0], h.longAfter()
		h.must(errOf(h.Restamp(h.ctx, all[:1])))
		for range 2 { // planned twice is planned once
			h.must(errOf(h.PlanDrop(h.ctx, before, h.clock().At, false)))
		}
		step := app.ArchiveStep{Sale: sale, Limit: 10, ChangedBefore: now, Now: now}
		done, err := h.MoveOrders(h.ctx, step)
		if err == nil || done.Moved != 0 || !strings.Contains(err.Error(), "2026-02 of the archive is being dropped") {
			t.Errorf("%+v moved (%v) into a month that goes", done, err)
		}
		h.must(errOf(h.dropAll(h.ctx, 10)))
		h.wantAll("dropped", 3)
		h.must(errOf(h.MakeMonths(h.ctx, h.clock().At)))
		if moved := h.archive(sale, 10); moved != 1 {
			t.Fatalf("%d moved afterwards", moved)
		}
		h.wantAll("moved again", 3)
		until := app.MonthOf(h.clock().At).Next()
		months, err := h.PlanDrop(h.ctx, until, h.clock().At, false)
		h.must(err)
		h.must(errOf(h.dropAll(h.ctx, 10)))
		h.wantAll("dropped again", 3)
		holds := func(m app.ArchivedMonth) bool { return m.Orders == 1 }
		if !slices.ContainsFunc(months, holds) || h.count("orders_archive") != 0 || h.count("orders") != 0 {
			t.Errorf("planned %+v; %d archived, %d orders", months, h.count("orders_archive"), h.count("orders"))
		}
	})
}
