package store_test

import (
	"context"
	"testing"

	"stampede/app/archive"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/snowflake"
	"stampede/app/store"
)

// newArchivedShop returns a shop with one sale that closed long ago, and n archived orders in each of the given months.
func newArchivedShop(t *testing.T, s *store.Store, n int, months ...shop.Month) (h *testShop, all []shop.ID) {
	t.Helper()
	h = newShop(t, s, 100)
	for _, month := range months {
		for i := range n {
			o := h.order(h.sales[0], 1)
			o.ID = snowflake.First(month.Start()) + shop.ID(i)
			h.insert(o)
			h.wantReceived(payment.Trade{
				Order: o.ID, No: "T" + o.ID.String(), State: payment.TradePaid, AmountFen: o.AmountFen,
			}, payment.OutcomeTaken, shop.Paid)
			h.ship(shippingOptions, parcel(o.ID))
			_, _, err := h.ConfirmReceipt(h.ctx, o.ID, o.User, opens+90)
			h.must(err)
			all = append(all, o.ID)
		}
	}
	h.clearPending()
	h.closeLongAgo(h.sales[0])
	if moved := h.archive(h.sales[0], 50); moved != len(all) {
		t.Fatalf("moved %d orders, want %d", moved, len(all))
	}
	return h, all
}

// dropAll deletes archived orders in steps of limit, and returns their number.
func (h *testShop) dropAll(ctx context.Context, before shop.Month, limit int) (orders int, err error) {
	rowsBefore, after := h.countRows("orders_archive"), shop.ID(0)
	for {
		last, err := h.DropOrders(ctx, before.Start(), after, h.clock().At, limit)
		if after = last; err != nil || last == 0 {
			return rowsBefore - h.countRows("orders_archive"), err
		}
	}
}

// wantBalance checks that the sale balances and that each order counts once with its money, in the archive or in the
// sums.
func (h *testShop) wantBalance(when string, n int64) {
	h.t.Helper()
	t := h.totals(h.sales[0])
	if t.Orders != n || t.SoldUnits != n || t.Taken != n || t.WithoutPayment != 0 {
		h.t.Errorf("%s: got totals %+v, want %d orders", when, t, n)
	}
	sums, err := h.SumSale(h.ctx, h.sales[0], opens, opens+120_000)
	h.must(err)
	if sums.Money.PaidFen != n*4900 {
		h.t.Errorf("%s: got %d fen paid, want %d", when, sums.Money.PaidFen, n*4900)
	}
}

// I1, I5: whole months are deleted with all rows of their orders. Other months, payments and sums stay. A repeated
// notification of a deleted order is recognised.
func TestDropArchiveDeletesWholeMonths(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const first, second, third shop.Month = 202602, 202603, 202604
		h, all := newArchivedShop(t, s, 2, first, second, third)
		before := h.totals(h.sales[0])
		months, err := h.ArchivedMonths(h.ctx, third)
		h.must(err)
		wantEqual(t, "months (-want +got)", []store.ArchivedMonth{
			{Month: first, Orders: 2, Sales: 1, PaidFen: 9800}, {Month: second, Orders: 2, Sales: 1, PaidFen: 9800},
		}, months)
		if months, err = h.ArchivedMonths(h.ctx, 0); err != nil || len(months) != 3 {
			t.Errorf("all months: got %+v (%v), want 3 months", months, err)
		}
		if n := h.countRows("order_states"); n != 6 {
			t.Errorf("got %d stored states, want 6", n)
		}
		dropped, err := h.dropAll(h.ctx, third, 3)
		h.must(err)
		if n := h.countRows("order_states"); n != 2 {
			t.Errorf("got %d stored states after the deletion, want 2", n)
		}
		if dropped != 4 || h.countRows("orders_archive") != 2 || h.countRows("shipments") != 2 || h.countRows("trades") > 2 ||
			h.countRows("payments") != 6 {
			t.Errorf("dropped %d orders; got remaining: %d orders, %d parcels, %d trades, %d payments", dropped, h.countRows("orders_archive"),
				h.countRows("shipments"), h.countRows("trades"), h.countRows("payments"))
		}
		found, err := h.OrdersByID(h.ctx, all)
		h.must(err)
		if len(found) != 2 || found[0].ID != all[4] {
			t.Errorf("found the orders %v, want the last two of %v", ids(found), all)
		}
		h.wantBalance("dropped", 6)
		if after := h.totals(h.sales[0]); after.MaxSeq != before.MaxSeq || after.MaxTicket != before.MaxTicket {
			t.Errorf("got totals %+v, want the maxima of %+v", after, before)
		}
		sums, err := h.SumSale(h.ctx, h.sales[0], opens, opens+120_000)
		if err != nil || sums.Dropped != 4 {
			t.Errorf("got sums %+v (%v), want 4 dropped orders", sums, err)
		}
		h.wantReceived(payment.Trade{
			Order: all[0], No: "T" + all[0].String(), State: payment.TradePaid, AmountFen: 4900,
		}, payment.OutcomeTaken, "")
		if dropped, err = h.dropAll(h.ctx, third.Next(), 3); err != nil || dropped != 2 {
			t.Errorf("dropped %d orders of the last month (%v), want 2", dropped, err)
		}
		h.wantBalance("all dropped", 6)
	})
}

// P8: a late payment races with the deletion of its archived order. Either the order stays until the payment is
// settled, or the payment is entered as that of an unknown order.
func TestLatePaymentAndDropArchiveExcludeEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100)
		var late []shop.Order
		for i := range 8 {
			o := h.order(h.sales[0], 1)
			o.ID = snowflake.First(shop.Month(202602).Start()) + shop.ID(i)
			h.insert(o)
			h.must(errOf(h.Expire(h.ctx, []shop.ID{o.ID}, payBy+1)))
			late = append(late, o)
		}
		h.clearPending()
		h.closeLongAgo(h.sales[0])
		h.archive(h.sales[0], 50)
		outcomes := make(chan payment.Outcome, len(late))
		for i := range late {
			go func() {
				_, outcome, err := h.Receive(h.ctx, payment.Trade{
					Order: late[i].ID, No: "L" + late[i].ID.String(), State: payment.TradePaid,
					AmountFen: late[i].AmountFen,
				}, payBy+1)
				if err != nil {
					t.Error(err)
				}
				outcomes <- outcome
			}()
		}
		dropped, err := h.dropAll(h.ctx, 202603, 1)
		h.must(err)
		found := map[payment.Outcome]int{}
		for range late {
			found[<-outcomes]++
		}
		if remaining := h.countRows("orders_archive"); found[payment.OutcomeLate] != remaining ||
			found[payment.OutcomeUnknownOrder] != dropped || remaining+dropped != len(late) {
			t.Errorf("got outcomes %v, %d remaining orders and %d deleted orders", found, remaining, dropped)
		}
	})
}

// I1, I5: the command journals the sums of the months before it deletes their orders. The test kills the command at
// each of its statements. The sale then balances, no order counts twice, and the same request continues with the result
// in the journal. The killed command returns Busy. A dry run and an open month change nothing.
func TestDropArchiveContinuesAfterEachCrash(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		d := &queryKiller{}
		s.HookQueries(d)
		h, _ := newArchivedShop(t, s, 3, 202602)
		service := &archive.Service{Archiver: h.archiver()}
		const next shop.Month = 202603
		dry, err := service.DropArchive(h.ctx, dryRun(operatorWithKey("drop-dry-run")), next)
		h.must(err)
		_, err = service.DropArchive(h.ctx, operatorWithKey("drop-open-month"), shop.MonthOf(h.clock().At).Next())
		if shop.AsError(err).Code != shop.BadRequest || h.countRows("journal") != 0 || h.countRows("orders_archive") != 3 {
			t.Errorf("an open month: got error %v, %d journal rows and %d archived orders",
				err, h.countRows("journal"), h.countRows("orders_archive"))
		}
		busy := 0
		for at := int64(1); ; at++ {
			ctx, die := context.WithCancel(h.ctx)
			d.die = die
			d.at.Store(at)
			drop, err := service.DropArchive(ctx, operatorWithKey("drop-february"), next)
			done := d.at.Swap(0) > 0
			die()
			if remaining := h.countRows("orders_archive"); remaining < 3 && h.countRows("journal") != 1 {
				t.Fatalf("killed at %s: %d orders remain, and the journal has no row", d.last, remaining)
			}
			h.wantBalance("died at "+d.last, 3)
			if done {
				h.must(err)
				dry.DryRun = false
				wantEqual(t, "result (-dry run +drop)", dry, drop)
				break
			}
			if shop.AsError(err).Code == shop.Busy {
				busy++
			} else if err != nil {
				t.Errorf("killed at %s: got error %v, want Busy", d.last, err)
			}
			if at > 1000 {
				t.Fatal("the loop does not end")
			}
		}
		if busy == 0 || h.countRows("orders_archive") != 0 || h.countRows("journal") != 1 {
			t.Errorf("got Busy %d times, %d remaining orders and %d journal rows", busy, h.countRows("orders_archive"),
				h.countRows("journal"))
		}
	})
}
