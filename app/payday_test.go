package app

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// payDayBooks are both sides' books, in memory.
type payDayBooks struct {
	Gateway
	orders   []Order
	payments []Received
	trades   map[ID]Trade // what the gateway says
	later    map[ID]Trade // and from the second question on
	asked    map[ID]int
}

func (b *payDayBooks) OrdersOfPayDay(_ context.Context, _, _ Millis, after ID, _ int) ([]ID, error) {
	var ids []ID
	for _, id := range []ID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12} {
		if id > after {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (b *payDayBooks) PaymentsOf(_ context.Context, ids []ID) ([]Received, error) {
	return slices.DeleteFunc(slices.Clone(b.payments), func(p Received) bool { return !slices.Contains(ids, p.Order) }), nil
}

func (b *payDayBooks) OrdersByID(_ context.Context, ids []ID) ([]Order, error) {
	return slices.DeleteFunc(slices.Clone(b.orders), func(o Order) bool { return !slices.Contains(ids, o.ID) }), nil
}

// serial keeps the questions of the report from meeting in the maps.
type serial struct {
	*payDayBooks
	turn chan struct{}
}

func (s serial) Query(_ context.Context, id ID) (Trade, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.asked[id]++
	if t, ok := s.later[id]; ok && s.asked[id] > 1 {
		return t, nil
	}
	if t, ok := s.trades[id]; ok {
		return t, nil
	}
	if id == 10 {
		return Trade{}, ErrMoment
	}
	return Trade{Order: id}, nil
}

// P8: every way in which the two sides can disagree is found and named, and what agrees, or agrees a moment later, is not.
func TestPayDayNamesEveryDifference(t *testing.T) {
	t.Parallel()
	paid := func(id ID, fen int64) Trade {
		return Trade{Order: id, No: "T" + id.String(), State: TradePaid, AmountFen: fen, PaidAt: 5}
	}
	entered := func(id ID, fen int64) Received {
		return Received{TradeNo: "T" + id.String(), Order: id, AmountFen: fen, Outcome: PaymentTaken}
	}
	back := paid(3, 500)
	back.State, back.RefundedFen = TradeClosed, 500
	other := entered(9, 500)
	other.TradeNo = "T-other"
	odd := entered(12, 400)
	odd.Outcome = PaymentForeign
	books := serial{&payDayBooks{
		orders: []Order{
			{ID: 1, State: Paid},
			{ID: 2, State: Expired},
			{ID: 3, State: Refunded},
			{ID: 4, State: Pending},
			{ID: 5, State: Paid},
			{ID: 6, State: Expired},
			{ID: 7, State: Refunded},
			{ID: 8, State: Shipped},
			{ID: 9, State: Paid},
			{ID: 10, State: Paid},
			{ID: 11, State: Paid},
		},
		payments: []Received{
			entered(1, 500), entered(3, 500), entered(5, 500), entered(6, 500), entered(7, 500), entered(8, 500), other,
			entered(10, 500), entered(11, 500), odd,
		},
		trades: map[ID]Trade{
			1: paid(1, 500), 3: back, 4: paid(4, 500), 6: paid(6, 500), 7: paid(7, 500), 8: paid(8, 499), 9: paid(9, 500), 12: paid(12, 400),
		},
		later: map[ID]Trade{11: paid(11, 500)},
		asked: map[ID]int{},
	}, make(chan struct{}, 1)}
	p := &PayDay{Book: books, Gateway: books, pause: time.Nanosecond}
	report, err := p.Report(context.Background(), "2026-11-21", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range report.Differences {
		got = append(got, d.Order.String()+" "+d.Kind)
		if strings.Contains(d.Message, "%!") || d.Message == "" {
			t.Errorf("%s: %q", d.Kind, d.Message)
		}
	}
	want := []string{
		"4 not_entered", "4 money_without_order", "5 not_taken", "5 order_without_money", "6 money_without_order",
		"7 not_given_back", "8 amount", "9 other_trade", "10 unanswered", "12 odd", "12 money_without_order",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if report.Orders != 12 || report.TakenFen != 500*7+499+400 || report.ReturnedFen != 500 {
		t.Errorf("%+v", report)
	}
}
