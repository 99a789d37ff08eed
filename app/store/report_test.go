package store_test

import (
	"testing"

	"stampede/app"
)

// The sums of a sale are those of its rows, by the second, the minute, the fate and the money, and of no other sale.
func TestSumUpOfASale(t *testing.T) {
	inShops(t, func(t *testing.T, h *testShop) {
		empty := val(h.SumUp(h.ctx, h.sales[0], opens, opens+120_000))(h.t)
		want := app.SaleSums{Seconds: []app.SalePoint{}, Minutes: []app.SalePoint{}, States: []app.SaleFate{}}
		same(t, "of nothing (-want +got)", want, empty)
		at := func(o app.Order, ms app.Millis) app.Order {
			o.CreatedAt = opens + ms
			return o
		}
		first, second := at(h.order(h.sales[0], 2), 10), at(h.order(h.sales[0], 1), 999)
		late, cancelled := at(h.order(h.sales[0], 1), 125_000), at(h.order(h.sales[0], 1), 1000)
		h.insert(first, second, late, cancelled, h.order(h.sales[1], 2))
		for i, o := range []app.Order{first, second, late} {
			trade := app.Trade{
				Order: o.ID, No: "T" + o.ID.String(), State: app.TradePaid, AmountFen: o.AmountFen,
				PaidAt: o.CreatedAt + app.Millis(1000*(i+1)),
			}
			_, _, err := h.Receive(h.ctx, trade, opens+130_000)
			h.must(err)
		}
		h.must(errOf(h.Cancel(h.ctx, cancelled.ID, cancelled.User, opens+2000)))
		for _, o := range []app.Order{second, late} {
			h.must(errOf(h.DecideRefund(h.ctx, app.RefundDecision{Order: o.ID, By: 7, Yes: true, At: opens})))
		}
		h.must(errOf(h.FinishRefund(h.ctx, second.ID, opens)))

		got := val(h.SumUp(h.ctx, h.sales[0], opens, opens+120_000))(h.t)
		want = app.SaleSums{
			Seconds: []app.SalePoint{{At: opens, Orders: 2, Units: 3}, {At: opens + 1000, Orders: 1, Units: 1}},
			Minutes: []app.SalePoint{{At: opens, Orders: 3, Units: 4}, {At: opens + 120_000, Orders: 1, Units: 1}},
			ToPay:   app.SaleWaits{Orders: 3, P50: 2000, P99: 3000},
			States: []app.SaleFate{
				{State: app.Cancelled, Orders: 1, Units: 1, AmountFen: 4900},
				{State: app.Paid, Orders: 1, Units: 2, AmountFen: 9800},
				{State: app.Refunded, Reason: app.ReasonRefundShop, Orders: 1, Units: 1, AmountFen: 4900},
				{State: app.Refunding, Reason: app.ReasonRefundShop, Orders: 1, Units: 1, AmountFen: 4900},
			},
			Money: app.SaleMoney{PaidFen: 19_600, RefundedFen: 4900, RefundingFen: 4900},
		}
		same(t, "(-want +got)", want, got)
	}, 50, 50)
}
