package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"stampede/app/payment"
	"stampede/app/shop"
)

const margin = 10 * time.Second

// opened returns a pending order whose payment was opened.
func (s *testShop) opened(sale shop.ID, qty int) shop.Order {
	s.t.Helper()
	o := s.order(sale, qty)
	s.insert(o)
	got := val(s.OpenTrade(s.ctx, o.ID, o.User, opens+2, margin))(s.t)
	return got
}

// tradeOf returns the gateway's report that the order was paid.
func tradeOf(o shop.Order) payment.Trade {
	return payment.Trade{
		Order: o.ID, No: "T" + o.ID.String(), State: payment.TradePaid, AmountFen: o.AmountFen, PaidAt: opens + 9,
	}
}

func (s *testShop) wantReceived(t payment.Trade, outcome payment.Outcome, state shop.OrderState) shop.Order {
	s.t.Helper()
	o, got, err := s.Receive(s.ctx, t, opens+10)
	s.must(err)
	if got != outcome || o.State != state {
		s.t.Errorf("trade %+v: got outcome %s and an order that is %s, want %s and %s", t, got, o.State, outcome, state)
	}
	if state != "" {
		wantEqual(s.t, "(-result +row)", o, s.read(t.Order), ignoreTouched)
	}
	return o
}

// P8: the trade is recorded once, only for the buyer of the order, and only before the deadline.
func TestOpenTradeRecordsTheTradeOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.order(h.sales[0], 1)
		h.insert(o)
		wantErr(t, "a trade of another user's order", errOf(h.OpenTrade(h.ctx, o.ID, o.User+1, opens, margin)), shop.ErrNoRow)
		if got, err := h.OpenTrade(h.ctx, o.ID, o.User, payBy.Add(-margin), margin); err != nil ||
			got.TradeOpened != 0 {
			t.Errorf("OpenTrade after the deadline: got %+v (%v), want no opened trade", got, err)
		}
		for _, now := range []shop.Millis{opens + 5, opens + 6} {
			got := val(h.OpenTrade(h.ctx, o.ID, o.User, now, margin))(h.t)
			if got.TradeOpened != opens+5 || got.Rev != 1 {
				t.Errorf("OpenTrade: got an order opened at %d with rev %d, want the first instant and rev 1",
					got.TradeOpened, got.Rev)
			}
		}
		if got, err := h.Expire(h.ctx, []shop.ID{o.ID}, payBy); err != nil || got[0].State != shop.Pending {
			t.Errorf("Expire with an open trade: got %+v (%v), want a pending order", got, err)
		}
		if got, err := h.Cancel(h.ctx, o.ID, o.User, payBy); err != nil || got.State != shop.Pending {
			t.Errorf("Cancel with an open trade: got %+v (%v), want a pending order", got, err)
		}
	}, 10)
}

// I5: an order whose trade has ended at the gateway ends once, in any final state. A paid order does not end.
func TestEndTradedEndsUnpaidOrdersOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		over, paid := h.opened(h.sales[0], 2), h.opened(h.sales[0], 1)
		h.wantReceived(tradeOf(paid), payment.OutcomeTaken, shop.Paid)
		for range 2 {
			got := val(h.EndTraded(h.ctx, []shop.ID{4242, paid.ID, over.ID}, shop.Expired, payBy))(h.t)
			if len(got) != 2 {
				t.Fatalf("EndTraded: got %d orders, want 2", len(got))
			}
			if o := got[0]; o.State != shop.Expired || o.CancelledAt != payBy || o.Rev != 2 {
				t.Errorf("got the order %+v, want it expired with rev 2", o)
			}
			wantEqual(t, "(-result +rows)", got, []shop.Order{h.read(over.ID), h.read(paid.ID)}, ignoreTouched)
		}
		h.wantTaken(h.sales[0], 1)
	}, 10)
}

// P8: a payment counts once, however many times and processes receive it.
func TestPaymentCountsOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.opened(h.sales[0], 2)
		var g errgroup.Group
		for range 4 {
			g.Go(func() error { _, _, err := h.Receive(h.ctx, tradeOf(o), opens+10); return err })
		}
		h.must(g.Wait())
		got := h.wantReceived(tradeOf(o), payment.OutcomeTaken, shop.Paid)
		if got.Rev != 2 || got.PaidAt != opens+9 || got.TradeNo != tradeOf(o).No {
			t.Errorf("%+v", got)
		}
		h.wantTaken(h.sales[0], 2)
		if due, err := h.ClaimTrades(h.ctx, payBy*2, payBy*3, 10); err != nil || len(due) != 0 {
			t.Errorf("after the payment: got due trades %v (%v), want none", due, err)
		}
	}, 10)
}

// P5: orders that wait for the gateway do not displace other orders from the scan for missed deadlines.
func TestOverdueListsOrdersWithoutTradeFirst(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		waiting, free := h.opened(h.sales[0], 1), h.order(h.sales[0], 1)
		free.PayBy = payBy + 50
		h.insert(free)
		for limit, want := range map[int][]shop.ID{1: {free.ID}, 10: {free.ID, waiting.ID}} {
			got := val(h.Overdue(h.ctx, payBy+100, limit))(h.t)
			if diff := cmp.Diff(want, ids(got)); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
		}
	}, 10)
}

// P8: a payment that does not match its order is stored and does not change the order. A later correct report of the
// trade corrects it. A wrong report after the correct one changes nothing.
func TestMismatchedPaymentChangesNoOrder(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o, other := h.opened(h.sales[0], 2), h.opened(h.sales[0], 1)
		rightTrade := tradeOf(o)
		wrongTrade := rightTrade
		wrongTrade.AmountFen--
		h.wantReceived(wrongTrade, payment.OutcomeWrongAmount, shop.Pending)
		h.wantReceived(wrongTrade, payment.OutcomeWrongAmount, shop.Pending)
		h.wantReceived(rightTrade, payment.OutcomeTaken, shop.Paid)
		h.wantReceived(wrongTrade, payment.OutcomeWrongAmount, shop.Paid)
		h.wantReceived(rightTrade, payment.OutcomeTaken, shop.Paid)

		second := rightTrade
		second.No = "another"
		h.wantReceived(second, payment.OutcomeSecondTrade, shop.Paid)
		reused := tradeOf(other)
		reused.No = rightTrade.No
		h.wantReceived(reused, payment.OutcomeSecondTrade, shop.Pending)
		foreign := rightTrade
		foreign.Order, foreign.No = 4242, "foreign"
		h.wantReceived(foreign, payment.OutcomeUnknownOrder, "")
		if n := h.countRows("payments WHERE outcome = 'unknown_order'"); n != 0 {
			t.Errorf("%d payments without a mark of the shop are stored, want 0", n)
		}
		foreign.Mark = payment.Mark{Shop: "here"}
		h.wantReceived(foreign, payment.OutcomeUnknownOrder, "")
		if n := h.countRows("payments WHERE outcome = 'unknown_order'"); n != 1 {
			t.Errorf("%d payments with the mark of the shop are stored, want 1", n)
		}
		refused := h.order(h.sales[0], 1)
		refused.State, refused.Reason = shop.Refused, shop.ReasonDead
		h.insert(refused)
		h.wantReceived(tradeOf(refused), payment.OutcomeNeverPayable, shop.Refused)
		h.wantTaken(h.sales[0], 3)
		if n := h.totals(h.sales[0]).WithoutPayment; n != 0 {
			t.Errorf("%d orders are paid without a payment, want 0", n)
		}
		free := h.order(h.sales[0], 1)
		h.insert(free)
		h.must(errOf(h.DB().ExecContext(h.ctx, "UPDATE orders SET state = 'paid' WHERE id = ?", free.ID)))
		if n := h.totals(h.sales[0]).WithoutPayment; n != 1 {
			t.Errorf("%d orders are paid without a payment, want 1", n)
		}
	}, 10)
}

// P8, I3: a late payment revives an order only under the hold number claimed for it, at the epoch that was read before,
// and only while the guard has units. Unresolved payments are listed until they are resolved.
func TestLatePaymentRevivesOnlyAClaimedOrder(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.opened(h.sales[0], 2)
		h.must(errOf(h.EndTraded(h.ctx, []shop.ID{o.ID}, shop.Expired, payBy)))
		unclaimed := h.wantReceived(tradeOf(o), payment.OutcomeLate, shop.Expired)
		h.wantReceived(tradeOf(o), payment.OutcomeLate, shop.Expired)
		if unclaimed.TradeNo == "" || unclaimed.PaidAt == 0 || unclaimed.Rev != 2 {
			t.Errorf("got the order %+v, want it with the late payment and rev 2", unclaimed)
		}
		claimed := val(h.ClaimHold(h.ctx, o.ID, shop.Expired))(h.t)
		for name, c := range map[string]struct {
			order shop.Order
			epoch int64
			want  error
		}{"no claim": {unclaimed, 1, shop.ErrNoRow}, "older epoch": {claimed, 0, shop.ErrStaleEpoch}} {
			wantErr(t, name, errOf(h.ReviveLate(h.ctx, c.order, c.epoch, payBy+9)), c.want)
		}
		blocker := h.order(h.sales[0], 2)
		h.insert(blocker)
		wantErr(t, "revived without a unit", errOf(h.ReviveLate(h.ctx, claimed, 1, payBy+9)), shop.ErrPermanent)
		if list, err := h.Unresolved(h.ctx, payBy, 0, 10); err != nil || len(list) != 1 || list[0].Order != o.ID {
			t.Errorf("got unresolved payments %+v (%v), want the late payment", list, err)
		}
		h.wantTaken(h.sales[0], 2)
		h.must(errOf(h.Cancel(h.ctx, blocker.ID, blocker.User, opens)))
		got := val(h.ReviveLate(h.ctx, claimed, 1, payBy+9))(h.t)
		wantEqual(t, "(-result +row)", got, h.read(o.ID), ignoreTouched)
		if got.State != shop.Paid || got.Reason != shop.ReasonPaidLate || got.CancelledAt != 0 || got.Rev != 3 ||
			got.Hold != 2 {
			t.Errorf("%+v", got)
		}
		wantErr(t, "revived twice", errOf(h.ReviveLate(h.ctx, claimed, 1, payBy+9)), shop.ErrNoRow)
		h.wantReceived(tradeOf(o), payment.OutcomeRevived, shop.Paid)
		if list, err := h.Unresolved(h.ctx, payBy, 0, 10); err != nil || len(list) != 0 {
			t.Errorf("got unresolved payments %+v (%v), want none", list, err)
		}
		h.wantTaken(h.sales[0], 2)
	}, 3)
}

// P8: a late payment that is refunded is settled once, and keeps its first outcome.
func TestLatePaymentIsSettledOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.opened(h.sales[0], 2)
		h.must(errOf(h.EndTraded(h.ctx, []shop.ID{o.ID}, shop.Cancelled, payBy)))
		h.wantReceived(tradeOf(o), payment.OutcomeLate, shop.Cancelled)
		for _, outcome := range []payment.Outcome{payment.OutcomeRefunded, payment.OutcomeRevived} {
			h.must(h.Resolve(h.ctx, o.ID, outcome))
		}
		h.wantReceived(tradeOf(o), payment.OutcomeRefunded, shop.Cancelled)
		if list, err := h.Unresolved(h.ctx, payBy, 0, 10); err != nil || len(list) != 0 {
			t.Errorf("got unresolved payments %+v (%v), want none", list, err)
		}
	}, 3)
}

// P8: trades that can still be paid are checked first. Trades whose time to pay has ended get a share of the checks.
// The longest waiting come first.
func TestClaimTradesPrefersPayableTrades(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		orders := make(map[shop.ID]int)
		next := make(map[shop.ID]shop.Millis)
		for i := range 32 {
			o := h.opened(h.sales[0], 1)
			orders[o.ID], next[o.ID] = i, opens+1_000+shop.Millis(i)
			if i < 16 { // their time to pay has ended, and they have waited longer
				_, err := h.DB().ExecContext(h.ctx, "UPDATE trades SET expires_at = ? WHERE order_id = ?", opens+3,
					o.ID)
				h.must(err)
			}
		}
		h.must(h.CheckTrades(h.ctx, opens+4, next))
		claim := func(limit int, want ...int) {
			t.Helper()
			due := val(h.ClaimTrades(h.ctx, opens+2_000, opens+90_000, limit))(h.t)
			var got []int
			for _, d := range due {
				got = append(got, orders[d.Order])
				if d.DueAt != next[d.Order] {
					t.Errorf("got the trade %+v, want DueAt %d", d, next[d.Order])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
		}
		claim(8, 16, 17, 18, 19, 20, 21, 22, 0)
		claim(4, 23, 24, 25, 26)
		claim(8, 27, 28, 29, 30, 31, 1, 2, 3)
		claim(8, 4, 5, 6, 7, 8, 9, 10, 11)
	}, 100)
}

// One node at a time checks a trade. The trade is checked again when it is due, but not after it has ended.
func TestDueTradeIsClaimedOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		one, two := h.opened(h.sales[0], 1), h.opened(h.sales[0], 1)
		claim := func(now shop.Millis, want int) []payment.OpenedTrade {
			t.Helper()
			due := val(h.ClaimTrades(h.ctx, now, now+100, 10))(h.t)
			if len(due) != want {
				t.Fatalf("at %d: got %d due trades, want %d", now, len(due), want)
			}
			return due
		}
		claim(opens+2, 0)
		if due := claim(opens+60_000, 2); due[0].ExpiresAt != payBy.Add(-margin) || due[0].OpenedAt != opens+2 {
			t.Errorf("got the due trade %+v, want its times of opening and expiry", due[0])
		}
		claim(opens+60_000, 0)
		claim(opens+60_100, 2)
		h.must(h.CheckTrades(h.ctx, opens+60_100, map[shop.ID]shop.Millis{one.ID: 0, two.ID: opens + 70_000}))
		claim(opens+69_999, 0)
		if due := claim(opens+80_000, 1); due[0].Order != two.ID {
			t.Errorf("got the due trade %+v, want the trade of order %v", due[0], two.ID)
		}
	}, 10)
}
