package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app/payment"
	"stampede/app/shop"
)

// P8: the orders of a day are those with a payment on it and those whose trade was open on it, without duplicates.
func TestOrdersOfDayIncludesPaymentsAndOpenTrades(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		const from, to = opens + 10, opens + 100
		trade := func(o shop.Order, at shop.Millis) payment.Trade {
			return payment.Trade{
				Order: o.ID, No: "T" + o.ID.String(), State: payment.TradePaid, AmountFen: o.AmountFen, PaidAt: at,
				Mark: payment.Mark{Shop: "here"},
			}
		}
		openedUntil := func(at, until shop.Millis) shop.Order {
			o := h.order(h.sales[0], 1)
			o.PayBy = until
			h.insert(o)
			h.must(errOf(h.OpenTrade(h.ctx, o.ID, o.User, at, 0)))
			return o
		}
		opened := func(at shop.Millis) shop.Order { return openedUntil(at, payBy) }
		receive := func(o shop.Order, at shop.Millis) payment.ReceivedPayment {
			_, outcome, err := h.Receive(h.ctx, trade(o, at), at)
			h.must(err)
			return payment.ReceivedPayment{
				TradeNo: "T" + o.ID.String(), Order: o.ID, AmountFen: o.AmountFen, PaidAt: at, SeenAt: at,
				Outcome: outcome,
			}
		}
		before, stillOpen := openedUntil(from-2, from-1), openedUntil(from-2, from)
		within, paidLater, openedBefore := opened(from), opened(to-1), opened(from-1)
		both := opened(from + 5)
		opened(to)
		receive(before, from-1)
		onTheDay := receive(both, from+6)
		receive(paidLater, to)
		fromYesterday := receive(openedBefore, from)
		foreign := receive(shop.Order{ID: nextID(), AmountFen: 1}, to-1)

		want := []shop.ID{stillOpen.ID, within.ID, paidLater.ID, openedBefore.ID, both.ID, foreign.Order}
		var got []shop.ID
		for last := shop.ID(0); ; last = got[len(got)-1] {
			page := val(h.OrdersOfDay(h.ctx, from, to, last, 2))(h.t)
			got = append(got, page...)
			if len(page) < 2 {
				break
			}
		}
		wantEqual(t, "(-want +got)", want, got)
		payments := val(h.PaymentsOf(h.ctx, append(got, 4242)))(h.t)
		found := make(map[shop.ID]payment.ReceivedPayment)
		for _, p := range payments {
			found[p.Order] = p
		}
		if diff := cmp.Diff(onTheDay, found[both.ID]); diff != "" || found[openedBefore.ID] != fromYesterday ||
			len(found) != 4 {
			t.Errorf("%d payments (-want +got):\n%s", len(found), diff)
		}
	}, 100)
}
