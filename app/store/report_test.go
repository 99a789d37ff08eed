package store_test

import (
	"testing"

	"stampede/app/board"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// The sums of a sale match its own rows, by second, minute, state and money.
func TestSumUpMatchesTheRowsOfASale(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		empty := val(h.SumSale(h.ctx, h.sales[0], opens, opens+120_000))(h.t)
		want := store.ReportSums{
			Seconds: []store.SalePoint{}, Minutes: []store.SalePoint{}, States: []store.SaleFunnel{},
		}
		wantEqual(t, "a sale without orders (-want +got)", want, empty)
		at := func(o shop.Order, ms shop.Millis) shop.Order {
			o.CreatedAt = opens + ms
			return o
		}
		first, second := at(h.order(h.sales[0], 2), 10), at(h.order(h.sales[0], 1), 999)
		late, cancelled := at(h.order(h.sales[0], 1), 125_000), at(h.order(h.sales[0], 1), 1000)
		h.insert(first, second, late, cancelled, h.order(h.sales[1], 2))
		for i, o := range []shop.Order{first, second, late} {
			trade := payment.Trade{
				Order: o.ID, No: "T" + o.ID.String(), State: payment.TradePaid, AmountFen: o.AmountFen,
				PaidAt: o.CreatedAt + shop.Millis(1000*(i+1)),
			}
			_, _, err := h.Receive(h.ctx, trade, opens+130_000)
			h.must(err)
		}
		h.must(errOf(h.Cancel(h.ctx, cancelled.ID, cancelled.User, opens+2000)))
		for _, o := range []shop.Order{second, late} {
			h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, Approved: true, At: opens})))
		}
		h.must(errOf(h.FinishRefund(h.ctx, second.ID, opens)))

		got := val(h.SumSale(h.ctx, h.sales[0], opens, opens+120_000))(h.t)
		want = store.ReportSums{
			Seconds: []store.SalePoint{{At: opens, Orders: 2, Units: 3}, {At: opens + 1000, Orders: 1, Units: 1}},
			Minutes: []store.SalePoint{
				{At: opens, Orders: 3, Units: 4}, {At: opens + 120_000, Orders: 1, Units: 1},
			},
			TimeToPay: board.WaitTimes{Orders: 3, P50: 2000, P99: 3000},
			States: []store.SaleFunnel{
				{State: shop.Cancelled, Orders: 1, Units: 1, AmountFen: 4900},
				{State: shop.Paid, Orders: 1, Units: 2, AmountFen: 9800},
				{State: shop.Refunded, Reason: payment.ReasonRefundShop, Orders: 1, Units: 1, AmountFen: 4900},
				{State: shop.Refunding, Reason: payment.ReasonRefundShop, Orders: 1, Units: 1, AmountFen: 4900},
			},
			Money: store.SaleMoney{PaidFen: 19_600, RefundedFen: 4900, RefundingFen: 4900},
		}
		wantEqual(t, "(-want +got)", want, got)
	}, 50, 50)
}
