package payment

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// reconciliationStores has the records of the shop and the gateway in memory.
type reconciliationStores struct {
	Trades
	Orders
	Gateway
	orders       []shop.Order
	payments     []ReceivedPayment
	trades       map[shop.ID]Trade // trades at the gateway
	secondTrades map[shop.ID]Trade // trades from the second query on
	queries      map[shop.ID]int
}

// OrdersOfDay lists orders with payments on the day, and with trades open on the day, for at most tradeLife.
func (r *reconciliationStores) OrdersOfDay(
	_ context.Context, from, to shop.Millis, after shop.ID, limit int,
) ([]shop.ID, error) {
	listed := make(map[shop.ID]bool)
	for _, p := range r.payments {
		listed[p.Order] = listed[p.Order] || from <= p.PaidAt && p.PaidAt < to
	}
	for _, o := range r.orders {
		listed[o.ID] = listed[o.ID] || o.TradeOpened < to && o.TradeOpened.Add(tradeLife) >= from
	}
	maps.DeleteFunc(listed, func(id shop.ID, listed bool) bool { return !listed || id <= after })
	ids := slices.Sorted(maps.Keys(listed))
	return ids[:min(limit, len(ids))], nil
}

const tradeLife = 5 * time.Minute

func (r *reconciliationStores) PaymentsOf(_ context.Context, ids []shop.ID) ([]ReceivedPayment, error) {
	return slices.DeleteFunc(slices.Clone(r.payments),
			func(p ReceivedPayment) bool { return !slices.Contains(ids, p.Order) }),
		nil
}

func (r *reconciliationStores) OrdersByID(_ context.Context, ids []shop.ID) ([]shop.Order, error) {
	return slices.DeleteFunc(
		slices.Clone(r.orders), func(o shop.Order) bool { return !slices.Contains(ids, o.ID) },
	), nil
}

// serialGateway serialises the queries, so that they do not access the maps concurrently.
type serialGateway struct {
	*reconciliationStores
	slot chan struct{}
}

func (s serialGateway) Query(_ context.Context, id shop.ID) (Trade, error) {
	s.slot <- struct{}{}
	defer func() { <-s.slot }()
	s.queries[id]++
	if t, ok := s.secondTrades[id]; ok && s.queries[id] > 1 {
		return t, nil
	}
	if t, ok := s.trades[id]; ok {
		return t, nil
	}
	if id == 10 {
		return Trade{}, shop.ErrTransient
	}
	return Trade{Order: id}, nil
}

// P8: each kind of difference between the shop and the gateway is reported. Records that agree, at once or a moment
// later, are not reported.
func TestReconciliationReportsEveryDifference(t *testing.T) {
	t.Parallel()
	paid := func(id shop.ID, fen int64) Trade {
		return Trade{Order: id, No: "T" + id.String(), State: TradePaid, AmountFen: fen, PaidAt: 5}
	}
	recorded := func(id shop.ID, fen int64) ReceivedPayment {
		return ReceivedPayment{TradeNo: "T" + id.String(), Order: id, AmountFen: fen, Outcome: OutcomeTaken}
	}
	returned := paid(3, 500)
	returned.State, returned.RefundedFen = TradeClosed, 500
	other := recorded(9, 500)
	other.TradeNo = "T-other"
	odd := recorded(12, 400)
	odd.Outcome = OutcomeUnknownOrder
	records := serialGateway{&reconciliationStores{
		orders: []shop.Order{
			{ID: 1, State: shop.Paid},
			{ID: 2, State: shop.Expired},
			{ID: 3, State: shop.Refunded},
			{ID: 4, State: shop.Pending},
			{ID: 5, State: shop.Paid},
			{ID: 6, State: shop.Expired},
			{ID: 7, State: shop.Refunded},
			{ID: 8, State: shop.Shipped},
			{ID: 9, State: shop.Paid},
			{ID: 10, State: shop.Paid},
			{ID: 11, State: shop.Paid},
		},
		payments: []ReceivedPayment{
			recorded(1, 500), recorded(3, 500), recorded(5, 500), recorded(6, 500), recorded(7, 500), recorded(8,
				500), other,
			recorded(10, 500), recorded(11, 500), odd,
		},
		trades: map[shop.ID]Trade{
			1: paid(1, 500), 3: returned, 4: paid(4, 500), 6: paid(6, 500), 7: paid(7, 500), 8: paid(8, 499), 9: paid(9,
				500), 12: paid(12, 400),
		},
		secondTrades: map[shop.ID]Trade{11: paid(11, 500)},
		queries:      map[shop.ID]int{},
	}, make(chan struct{}, 1)}
	p := &DailyReconciliation{Trades: records, Orders: records, Gateway: records, pause: time.Nanosecond}
	report, err := p.part(context.Background(), 0, 10, 0)
	fakes.Must(t, err)
	var got []string
	for _, d := range report.Differences {
		got = append(got, d.Order.String()+" "+d.Kind)
		if strings.Contains(d.Message, "%!") || d.Message == "" {
			t.Errorf("%s: got message %q, want a formatted text", d.Kind, d.Message)
		}
	}
	want := []string{
		"4 not_entered", "4 money_without_order", "5 not_taken", "5 order_without_money", "6 money_without_order",
		"7 not_given_back", "8 amount", "9 other_trade", "10 unanswered", "12 odd", "12 money_without_order",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got differences  %v\nwant differences %v", got, want)
	}
	if report.Orders != 12 || report.TakenFen != 500*7+499+400 || report.ReturnedFen != 500 {
		t.Errorf("got report %+v, want 12 orders, %d fen taken, 500 fen returned", report, 500*7+499+400)
	}
}

// P8: each fen counts on exactly one day, the day of payment. The times of opening and refund are irrelevant. Payments
// that are missing in the database count, too.
func TestReconciliationCountsEachTradeOnce(t *testing.T) {
	t.Parallel()
	const midnight = shop.Millis(1_795_276_800_000)
	day := shop.Millis((24 * time.Hour).Milliseconds())
	minute := shop.Millis(time.Minute.Milliseconds())
	records := serialGateway{
		&reconciliationStores{trades: map[shop.ID]Trade{}, queries: map[shop.ID]int{}}, make(chan struct{}, 1),
	}
	addTrade := func(id shop.ID, opened, paid shop.Millis, fen int64, state shop.OrderState, recorded bool) {
		trade := Trade{Order: id, No: "T" + id.String(), State: TradePaid, AmountFen: fen, PaidAt: paid}
		if state == shop.Refunded {
			trade.State, trade.RefundedFen = TradeClosed, fen
		}
		records.trades[id] = trade
		records.orders = append(records.orders, shop.Order{ID: id, State: state, TradeOpened: opened})
		if recorded {
			p := ReceivedPayment{TradeNo: trade.No, Order: id, AmountFen: fen, PaidAt: paid, Outcome: OutcomeTaken}
			records.payments = append(records.payments, p)
		}
	}
	addTrade(1, midnight-4*minute, midnight-1, 1, shop.Paid, true) // the last moment of the day
	// opened before midnight, paid after midnight
	addTrade(2, midnight-minute, midnight, 10, shop.Paid, true)
	addTrade(3, midnight-minute, midnight+minute, 100, shop.Pending, false)         // the same, without a notification
	addTrade(4, midnight-2*minute, midnight-minute, 1_000, shop.Refunded, true)     // refunded on the next day
	addTrade(5, midnight+minute, midnight+2*minute, 10_000, shop.Refunded, true)    // within the day
	addTrade(6, midnight+day-minute, midnight+day+minute, 100_000, shop.Paid, true) // paid after the next midnight
	// the gateway does not report the time
	addTrade(7, midnight+minute, 0, 1_000_000, shop.Paid, false)

	p := &DailyReconciliation{Trades: records, Orders: records, Gateway: records, pause: time.Nanosecond}
	for _, c := range []struct {
		from            shop.Millis
		orders, paid    int
		taken, returned int64
	}{
		{midnight - day, 4, 2, 1_001, 1_000},
		{midnight, 7, 4, 1_010_110, 10_000},
		{midnight + day, 1, 1, 100_000, 0},
	} {
		report, err := p.part(context.Background(), c.from, c.from+day, 0)
		fakes.Must(t, err)
		if report.Orders != c.orders || report.Paid != c.paid || report.TakenFen != c.taken ||
			report.ReturnedFen != c.returned {
			t.Errorf("from %d: got report %+v, want %+v", c.from, report, c)
		}
	}
}

// A day of the shop starts and ends at its own midnight, even on days of a clock change.
func TestCalendarDayUsesShopTimeZone(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]struct {
		date, from string
		hours      float64
	}{
		"Asia/Shanghai": {"2026-11-20", "2026-11-19T16:00:00Z", 24},
		"Europe/Berlin": {"2026-10-25", "2026-10-24T22:00:00Z", 25},
		"UTC":           {"2026-12-31", "2026-12-31T00:00:00Z", 24},
	} {
		location, err := time.LoadLocation(zone)
		fakes.Must(t, err)
		date, err := time.Parse(time.DateOnly, want.date)
		fakes.Must(t, err)
		from, to := CalendarDay(date, location)
		if got := from.UTC().Format(time.RFC3339); got != want.from || to.Sub(from).Hours() != want.hours {
			t.Errorf("%s: got a day from %s with %v h, want %+v", zone, got, to.Sub(from).Hours(), want)
		}
	}
}
