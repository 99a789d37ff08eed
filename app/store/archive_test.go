package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// closedAt is the closing time of sales whose orders are to move.
const closedAt shop.Millis = 1_700_000_000_000

// longAfter is long after the last change of a sale, by the database's clock.
func (h *testShop) longAfter() shop.Millis { return h.clock().At.Add(1000 * time.Hour) }

// closeLongAgo changes a sale so that it closed long ago and has left Redis.
func (h *testShop) closeLongAgo(sale shop.ID) {
	h.t.Helper()
	h.must(h.MarkRetired(h.ctx, sale, h.epoch))
	h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE sales SET closes_at = ? WHERE id = ?", closedAt, sale)))
}

// archive moves the settled orders of a sale, in steps of limit orders, and returns their number.
func (h *testShop) archive(sale shop.ID, limit int) (moved int) {
	h.t.Helper()
	now := h.longAfter()
	step := store.ArchiveStep{Sale: sale, Limit: limit, ChangedBefore: now, Now: now}
	for {
		done, err := h.MoveOrders(h.ctx, step)
		h.must(err)
		moved += done.Moved
		if done.Checked == 0 {
			return moved
		}
		step.After = done.Last
	}
}

func (h *testShop) countRows(table string) (n int) {
	h.t.Helper()
	h.must(h.DB().NewRaw("SELECT COUNT(*) FROM "+table).Scan(h.ctx, &n))
	return n
}

// clearPending clears all pending publications, postings, emails and checks.
func (h *testShop) clearPending() {
	h.t.Helper()
	for _, statement := range []string{
		"UPDATE orders SET unpublished_since = NULL, changed_at = changed_at", "UPDATE outbox SET next_at = NULL",
		"UPDATE trades SET check_at = NULL", "UPDATE shipments SET mail_at = NULL",
	} {
		h.must(errOf(h.DB().ExecContext(h.ctx, statement)))
	}
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

// allReads returns the results of all reads of orders.
func (h *testShop) allReads(user shop.ID, all []shop.ID) map[string]any {
	h.t.Helper()
	out := map[string]any{}
	add := func(name string, v any, err error) {
		h.must(err)
		out[name] = v
	}
	for _, id := range all {
		o, err := h.Order(h.ctx, id)
		add("order "+id.String(), o, err)
		found, _, err := h.FindOrders(h.ctx, store.OrderSearch{ID: id, Limit: 2})
		add("found "+id.String(), found, err)
		add("parcel "+id.String(), h.tryShip(shippingOptions, parcel(id)), nil)
	}
	rows, err := h.OrdersByID(h.ctx, append(all, all[0], nextID()))
	add("by id", rows, err)
	for _, sale := range h.sales {
		rows, err := h.OrdersOfSale(h.ctx, sale, all[1], 3)
		add("of sale "+sale.String(), rows, err)
		totals, err := h.SaleTotals(h.ctx, sale)
		add("totals "+sale.String(), totals, err)
		sums, err := h.SumSale(h.ctx, sale, opens, opens+120_000)
		add("sums "+sale.String(), sums, err)
	}
	for name, q := range map[string]store.OrderSearch{
		"user": {User: user}, "sale": {Sale: h.sales[0]}, "finished": {State: shop.Finished}, "all": {},
		"expired": {State: shop.Expired},
	} {
		for page := 1; ; page++ {
			q.Limit = 2
			found, more, err := h.FindOrders(h.ctx, q)
			add("search "+name+" "+string(rune('0'+page)), found, err)
			if !more {
				break
			}
			q.Before = found[len(found)-1].ID
		}
	}
	for q := (shop.OrdersQuery{User: user, Limit: 2}); ; {
		page, more, err := h.OrdersOf(h.ctx, q)
		add("list before "+q.Before.String(), page, err)
		if !more {
			break
		}
		q.Before = page[len(page)-1].ID
	}
	payments, err := h.PaymentsOf(h.ctx, all)
	add("payments", payments, err)
	ofDay, err := h.OrdersOfDay(h.ctx, opens-1000, opens+10_000_000, 0, 100)
	add("of the day", ofDay, err)
	return out
}

// I1, P1: every read returns the same result before, during and after the move of orders to the archive. Sums and the
// guard always agree.
func TestArchivedOrdersAreReadAsBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 50, 50)
		user := nextID()
		var all []shop.ID
		for i := range 3 {
			for _, newEndedOrder := range []func(shop.ID) shop.Order{h.finished, h.refunded, h.cancelled} {
				o := newEndedOrder(h.sales[0])
				all = append(all, o.ID)
			}
			mine := h.order(h.sales[i%2], 1)
			mine.User = user
			h.insert(mine)
			all = append(all, mine.ID)
		}
		h.must(errOf(h.Expire(h.ctx, all[:4], payBy+1)))
		h.clearPending()
		for _, sale := range h.sales {
			h.closeLongAgo(sale)
		}
		before := h.allReads(user, all)
		now := h.longAfter()
		firstStep, err := h.MoveOrders(h.ctx, store.ArchiveStep{
			Sale: h.sales[0], Limit: 5, ChangedBefore: now, Now: now,
		})
		h.must(err)
		if firstStep.Moved == 0 || firstStep.Checked != 5 {
			t.Errorf("first step: got %+v, want 5 checked orders and some moved", firstStep)
		}
		wantEqual(t, "in the middle of a move (-before +now)", before, h.allReads(user, all))
		moved := firstStep.Moved + h.archive(h.sales[0], 2)
		if want := 10; moved != want || h.countRows("orders_archive") != want {
			t.Errorf("got %d moved orders and %d archived rows, want %d", moved, h.countRows("orders_archive"), want)
		}
		wantEqual(t, "afterwards (-before +now)", before, h.allReads(user, all))
		if again := h.archive(h.sales[0], 100); again != 0 {
			t.Errorf("moved %d orders again, want 0", again)
		}
	})
}

// An order that can still change is not archived.
func TestUnsettledOrdersAreNotArchived(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100, 10)
		sale := h.sales[0]
		unpaid := h.order(sale, 1)
		h.insert(unpaid)
		paid, shipped := h.paid(sale, 1), h.paid(sale, 1)
		h.ship(shippingOptions, parcel(shipped.ID))
		refunding := h.paid(sale, 1)
		h.must(errOf(h.DecideRefund(h.ctx,
			payment.RefundDecision{Order: refunding.ID, By: 7, Approved: true, At: opens})))
		late := h.opened(sale, 1)
		h.must(errOf(h.EndTraded(h.ctx, []shop.ID{late.ID}, shop.Expired, payBy)))
		_, outcome, err := h.Receive(h.ctx, payment.Trade{
			Order: late.ID, No: "L" + late.ID.String(), State: payment.TradePaid, AmountFen: late.AmountFen,
		}, payBy+1)
		h.must(err)
		if outcome != payment.OutcomeLate {
			t.Fatalf("payment of an expired order: got outcome %s", outcome)
		}
		h.clearPending()
		unpublished, unposted, queries, unwritten, young, odd := h.cancelled(sale), h.finished(sale), h.cancelled(sale),
			h.finished(sale), h.cancelled(sale), h.refunded(sale)
		h.clearPending()
		for order, statement := range map[shop.ID]string{
			unpublished.ID: "UPDATE orders SET unpublished_since = 5, changed_at = changed_at WHERE id = ?",
			unposted.ID:    "INSERT INTO outbox (order_id, rev, state, at, next_at) VALUES (?, 2, 'paid', 1, 5)",
			unwritten.ID:   "UPDATE shipments SET mail_at = 5 WHERE order_id = ?",
			odd.ID:         "UPDATE refunds SET state = 'stuck' WHERE order_id = ?",
		} {
			h.must(errOf(h.DB().ExecContext(h.ctx, statement, order)))
		}
		_, err = h.DB().ExecContext(h.ctx, "INSERT INTO trades (order_id, opened_at, expires_at, check_at)"+
			" VALUES (?, 1, 2, 3)", queries.ID)
		h.must(err)
		h.setChangedAt(young.ID, h.longAfter().Add(time.Hour))
		h.closeLongAgo(sale)
		if moved := h.archive(sale, 3); moved != 0 {
			var which []shop.ID
			h.must(h.DB().NewRaw("SELECT id FROM orders_archive").Scan(h.ctx, &which))
			t.Errorf("%v moved; unpaid %s, paid %s, shipped %s, refunding %s, late %s, unpublished %s, unposted %s, requested %s,"+
				" unwritten %s, young %s, odd %s", which, unpaid.ID, paid.ID, shipped.ID, refunding.ID, late.ID, unpublished.ID,
				unposted.ID, queries.ID, unwritten.ID, young.ID, odd.ID)
		}
		remaining, err := h.PlanArchive(h.ctx, sale, 77)
		h.must(err)
		if !remaining {
			t.Error("a sale with orders counts as empty")
		}
		// Operators see how many orders must still be shipped or received.
		state, err := h.ArchiveState(h.ctx, 76, 76, 76)
		h.must(err)
		if state.SalesKept != 1 || state.PaidLeft != 1 || state.ShippedLeft != 1 {
			t.Errorf("remaining entries: %+v, want sales kept 1, paid left 1 and shipped left 1", state)
		}
	})
}

// P8, I1: a late payment of an archived order is refunded on its row in the archive, once, even if several processes
// receive it concurrently. Each new state is published, and a reconnecting buyer finds it. No units are held again, and
// nothing else changes an archived order.
func TestLatePaymentOfArchivedOrderIsRefundedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		sale := h.sales[0]
		o := h.opened(sale, 1)
		h.must(errOf(h.EndTraded(h.ctx, []shop.ID{o.ID}, shop.Expired, payBy)))
		h.clearPending()
		h.closeLongAgo(sale)
		h.setChangedAt(o.ID, h.clock().At.Add(-1000*time.Hour))
		if moved := h.archive(sale, 10); moved != 1 {
			t.Fatalf("got %d moved orders, want 1", moved)
		}
		before, start := h.read(o.ID), h.clock().At
		trade := payment.Trade{Order: o.ID, No: "L" + o.ID.String(), State: payment.TradePaid, AmountFen: o.AmountFen}
		late := make(chan payment.Outcome)
		for range 4 {
			go func() {
				_, outcome, err := h.Receive(h.ctx, trade, payBy+1)
				if err != nil {
					t.Error(err)
				}
				late <- outcome
			}()
		}
		for range 4 {
			if outcome := <-late; outcome != payment.OutcomeLate {
				t.Errorf("late payment of an archived order: got outcome %s, want late", outcome)
			}
		}
		if now := h.read(o.ID); now.TradeNo != trade.No || now.Rev != before.Rev || now.PaidAt == 0 {
			t.Errorf("after the late payment: got %+v, want the payment and rev %d", now, before.Rev)
		}
		wantErr(t, "hold units for it", errOf(h.ClaimHold(h.ctx, o.ID, shop.Expired)), shop.ErrArchived)
		wantErr(t, "hold units for another state", errOf(h.ClaimHold(h.ctx, o.ID, shop.Refused)), shop.ErrNoRow)
		if changes, _, err := h.Changed(h.ctx, []shop.ChangesQuery{{User: o.User, Since: start}}, 9); err != nil ||
			changes[0].More {
			t.Errorf("a payment without a new state: got changes %+v (%v), want none", changes, err)
		}
		ended := []shop.OrderState{shop.Expired}
		for range 2 {
			h.must(errOf(h.BeginRefund(h.ctx, o.ID, ended, shop.ReasonLateOver, payBy)))
			h.must(h.Resolve(h.ctx, o.ID, payment.OutcomeRefunded))
			h.must(errOf(h.FinishRefund(h.ctx, o.ID, payBy)))
		}
		got := h.read(o.ID)
		if got.State != shop.Refunded || got.Rev != before.Rev+2 || got.Hold != before.Hold {
			t.Errorf("got the order %+v, want it refunded, two revs after %+v", got, before)
		}
		changes, _, err := h.Changed(h.ctx, []shop.ChangesQuery{{User: o.User, Since: start}}, 9)
		h.must(err)
		if !changes[0].More {
			t.Error("a buyer who reconnects does not read the refund")
		}
		unpublished, err := h.Unpublished(h.ctx, shop.Millis(1)<<42, 10)
		h.must(err)
		if len(unpublished) != 1 || unpublished[0].ID != o.ID {
			t.Fatalf("got unpublished orders %v, want the refunded order", ids(unpublished))
		}
		h.must(h.MarkPublished(h.ctx, []*shop.Order{&unpublished[0]}))
		if unpublished, err = h.Unpublished(h.ctx, shop.Millis(1)<<42, 10); err != nil || len(unpublished) != 0 {
			t.Errorf("after MarkPublished: got unpublished orders %v (%v), want none", ids(unpublished), err)
		}
		if again, err := h.Touch(h.ctx, []shop.ID{o.ID}); err != nil || len(again) != 1 {
			t.Errorf("Touch: got orders %v (%v), want 1", ids(again), err)
		}
		if live, archived := h.countRows("orders"), h.countRows("orders_archive"); live != 0 || archived != 1 {
			t.Errorf("got %d rows in orders and %d in the archive", live, archived)
		}
		h.wantTaken(sale, 0)
	})
}

// I1, P4: a redelivered entry of an archived order finds it. The key of an archived order counts as used.
func TestInsertFindsArchivedOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		sale := h.sales[0]
		o := h.finished(sale)
		h.clearPending()
		h.closeLongAgo(sale)
		if moved := h.archive(sale, 10); moved != 1 {
			t.Fatalf("got %d moved orders, want 1", moved)
		}
		sameKey, other := h.order(sale, 1), h.order(sale, 1)
		sameKey.User, sameKey.Key = o.User, o.Key
		if again := h.insert(o); again[0].Fresh || again[0].Order.State != shop.Finished {
			t.Errorf("insert the archived order: got %+v, want the existing row", again)
		}
		got := h.insert(o, sameKey, other)
		if got[0].Fresh || got[0].Order.State != shop.Finished {
			t.Errorf("insert the archived order in a batch: got %+v, want the existing row", got[0])
		}
		if !got[1].Fresh || got[1].Order.State != shop.Refused || got[1].Order.Reason != shop.ReasonKey {
			t.Errorf("insert an order with the key of the archived order: got %+v, want a refused order", got[1])
		}
		if !got[2].Fresh || got[2].Order.State != shop.Pending {
			t.Errorf("insert another order: got %+v, want a fresh pending order", got[2])
		}
		if again := h.insert(o, other); again[0].Fresh || again[1].Fresh {
			t.Errorf("a repeated insert: got %+v, want existing rows", again)
		}
		if live, archived := h.countRows("orders"), h.countRows("orders_archive"); live != 2 || archived != 1 {
			t.Errorf("got %d rows in orders and %d in the archive", live, archived)
		}
		h.wantTaken(sale, 2)
	})
}

// F6: a cursor from before the change of an archived order leads to reading all orders. A later cursor misses nothing.
func TestOldCursorMissesNoArchivedOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		o := h.finished(h.sales[0])
		h.clearPending()
		changedAt := h.clock().At.Add(-100 * 24 * time.Hour)
		h.setChangedAt(o.ID, changedAt)
		h.closeLongAgo(h.sales[0])
		if moved := h.archive(h.sales[0], 10); moved != 1 {
			t.Fatalf("got %d moved orders, want 1", moved)
		}
		for since, more := range map[shop.Millis]bool{
			changedAt - 1: true, changedAt: true, changedAt + 1: false, h.clock().At: false,
		} {
			queries := []shop.ChangesQuery{{User: o.User, Since: since}, {User: nextID(), Since: since}}
			changes, _, err := h.Changed(h.ctx, queries, 9)
			h.must(err)
			if changes[0].More != more || len(changes[0].Orders) != 0 || changes[1].More {
				t.Errorf("changes since %d: got %+v", since-changedAt, changes)
			}
		}
	})
}

// Only one process at a time works on the archive.
func TestLockArchiveAdmitsOneProcess(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		h.must(h.LockArchive(h.ctx, func(ctx context.Context) error {
			err := h.LockArchive(ctx, func(context.Context) error {
				t.Error("two processes work on the archive at the same time")
				return nil
			})
			if !errors.Is(err, store.ErrArchiveLocked) {
				t.Errorf("second process: got error %v, want ErrArchiveLocked", err)
			}
			return nil
		}))
		h.must(h.LockArchive(h.ctx, func(context.Context) error { return nil }))
	})
}

// Sales are listed once they have left Redis, the longest waiting first, and never again when they are empty.
func TestSalesToArchiveListsRetiredSales(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10, 10, 10)
		now := h.longAfter()
		due := func() []shop.ID {
			t.Helper()
			sales, err := h.SalesToArchive(h.ctx, now, now, 10)
			h.must(err)
			return sales
		}
		if got := due(); len(got) != 0 {
			t.Errorf("sales in Redis: got due sales %v, want none", got)
		}
		for _, sale := range h.sales {
			h.closeLongAgo(sale)
		}
		h.insert(h.order(h.sales[1], 1))
		for _, sale := range h.sales[:2] {
			remaining, err := h.PlanArchive(h.ctx, sale, now+1)
			h.must(err)
			if remaining != (sale == h.sales[1]) {
				t.Errorf("PlanArchive of sale %s: got remaining %v", sale, remaining)
			}
		}
		if got := due(); !slices.Equal(got, h.sales[2:]) {
			t.Errorf("got due sales %v, want %v", got, h.sales[2:])
		}
		now++
		if got := due(); !slices.Equal(got, []shop.ID{h.sales[2], h.sales[1]}) {
			t.Errorf("one millisecond later: got due sales %v, want %v", got, []shop.ID{h.sales[2], h.sales[1]})
		}
		if got, err := h.SalesToArchive(h.ctx, now, closedAt, 10); err != nil || len(got) != 0 {
			t.Errorf("sales that closed later: got due sales %v (%v), want none", got, err)
		}
	})
}
