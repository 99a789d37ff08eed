package app

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// wordyGateway says what a test wants it to say.
type wordyGateway struct {
	*trace
	trade   Trade
	err     error
	wait    chan struct{} // closed: it answers; nil: at once
	request PayRequest
}

func (g *wordyGateway) Pay(_ context.Context, r PayRequest) (Payment, error) {
	g.add("gateway pay")
	g.request = r
	return Payment{URL: "https://gateway.example/" + r.Order.String()}, g.err
}

func (g *wordyGateway) word(ctx context.Context, asked string, order ID) (Trade, error) {
	g.add("gateway %s", asked)
	if g.wait != nil {
		select {
		case <-g.wait:
		case <-ctx.Done():
			return Trade{}, ErrTransient
		}
	}
	t := g.trade
	t.Order = order
	return t, g.err
}

func (g *wordyGateway) Query(ctx context.Context, order ID) (Trade, error) {
	return g.word(ctx, "query", order)
}

func (g *wordyGateway) Close(ctx context.Context, order ID) (Trade, error) {
	return g.word(ctx, "close", order)
}
func (g *wordyGateway) Refund(context.Context, RefundRequest) error           { return g.err }
func (g *wordyGateway) Refunded(context.Context, RefundRequest) (bool, error) { return false, g.err }

func (g *wordyGateway) Notified(url.Values) (Trade, error) { return g.trade, g.err }

// tradeStore has one order, and notes in which order it was asked.
type tradeStore struct {
	PaymentStore
	*trace
	row     Order
	outcome PaymentOutcome
	err     error
	locked  bool // the row of the sale
}

func (b *tradeStore) OpenTrade(_ context.Context, _, user ID, now Millis, _ time.Duration) (Order, error) {
	if user != b.row.User {
		return Order{}, ErrNoRow
	}
	b.add("open")
	if b.row.State == Pending {
		b.row.TradeOpened = now
	}
	return b.row, b.err
}

func (b *tradeStore) Receive(context.Context, Trade, Millis) (Order, PaymentOutcome, error) {
	b.add("receive")
	b.row.State, b.row.Rev, b.row.Stamped = Paid, 2, true
	return b.row, b.outcome, b.err
}

func (b *tradeStore) EndTraded(_ context.Context, _ []ID, to OrderState, now Millis) ([]Order, error) {
	b.add("end as %s", to)
	if b.locked {
		return []Order{b.row}, nil
	}
	b.row.State, b.row.CancelledAt, b.row.Rev, b.row.Stamped = to, now, 2, true
	return []Order{b.row}, b.err
}

func (l *fakeInventory) Sell(_ context.Context, s []SoldHold) ([]bool, error) {
	l.add("sell %d", len(s))
	return make([]bool, len(s)), nil
}

func (l *fakeInventory) Waiting(context.Context, ID) ([]Reservation, error) {
	return []Reservation{{Order: 77}}, nil
}

const payWindow = 5 * time.Minute

// newTestCashier has the pending order 1 of user 9, which has been there for a minute.
func newTestCashier() (*Cashier, *wordyGateway, *tradeStore, *fakeInventory) {
	tr := &trace{}
	inventory := &fakeInventory{trace: tr, now: 1_000_000}
	book := &tradeStore{trace: tr, outcome: PaymentTaken, row: Order{
		ID: 1, Sale: 7, User: 9, State: Pending, Hold: 1, Rev: 1, ToldRev: 1, AmountFen: 4900, ProductName: "Lamp",
		PayBy: 1_000_000 + Millis((payWindow - time.Minute).Milliseconds()),
	}}
	gateway := &wordyGateway{trace: tr}
	orders := &dueStore{trace: tr}
	return &Cashier{
		Gateway: gateway, Inventory: inventory, Payments: book, Orders: orders,
		Effects: effectsOf(inventory, orders, &fakeNotifier{trace: tr}), Margin: TradeMargin(payWindow),
	}, gateway, book, inventory
}

// lateTrade is an order whose row was not there when it was to be paid; afterwards it reads as given.
type lateTrade struct {
	OrderStore
	PaymentStore
	row Order
	err error
}

func (r *lateTrade) OpenTrade(context.Context, ID, ID, Millis, time.Duration) (Order, error) {
	return Order{}, ErrNoRow
}

func (r *lateTrade) Order(context.Context, ID) (Order, error) { return r.row, r.err }

// P2: as TestOrderThatBecomesARowIsNotMissing, for who pays.
func TestPaidOrderThatBecomesARowIsNotMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  Order
		err  error
		want Code
	}{
		"there is none":       {err: ErrNoRow, want: NotFound},
		"another user's":      {row: Order{ID: 1, User: 8}, want: NotFound},
		"its row is there":    {row: Order{ID: 1, User: 9}, want: Busy},
		"the database is cut": {err: ErrTransient, want: Busy},
	} {
		orders := &lateTrade{row: c.row, err: c.err}
		cashier, _, _, _ := newTestCashier()
		cashier.Orders, cashier.Payments = orders, orders
		if _, err := cashier.Pay(t.Context(), 9, 1, ViaPage); AsError(err).Code != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// P8: the trade is noted before the gateway is contacted, and ends before the order does; the buyer hears when.
func TestPayNotesTheTradeFirst(t *testing.T) {
	t.Parallel()
	c, gateway, book, _ := newTestCashier()
	book.row.PayBy += 750
	until := book.row.PayBy - 750 - 10_000 // the gateway counts in whole seconds
	got, err := c.Pay(context.Background(), 9, 1, ViaWap)
	if err != nil || got.URL == "" || got.PayBy != book.row.PayBy || got.Until != until {
		t.Fatalf("%+v, %v; want until %d", got, err, until)
	}
	if want := []string{"open", "gateway pay"}; !slices.Equal(book.steps, want) {
		t.Errorf("steps %v, want %v", book.steps, want)
	}
	want := PayRequest{Order: 1, Via: ViaWap, AmountFen: 4900, Subject: "Lamp", ExpiresAt: until}
	if gateway.request != want {
		t.Errorf("asked %+v, want %+v", gateway.request, want)
	}
}

// A repeated pay returns the stored payment without a call to the gateway, after reading the row. Calls for codes are
// limited.
func TestRepeatedPayMakesNoCall(t *testing.T) {
	t.Parallel()
	c, _, book, _ := newTestCashier()
	calls := 0
	c.MayCall = func(user ID) error {
		if calls++; user != 9 || calls > 1 {
			return Fail(RateLimited, "too many calls")
		}
		return nil
	}
	first, err := c.Pay(context.Background(), 9, 1, ViaQR)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if again, err := c.Pay(context.Background(), 9, 1, ViaQR); err != nil || again != first {
			t.Fatalf("got %+v, %v; want %+v", again, err, first)
		}
	}
	if n := len(book.steps); n != 102 || calls != 1 {
		t.Errorf("%d steps, %d calls; want 101 reads and a call of the gateway", n, calls)
	}
	c.payables.stored = nil
	if _, err := c.Pay(context.Background(), 9, 1, ViaQR); AsError(err).Code != RateLimited {
		t.Errorf("got %v, want rate_limited", err)
	}
	if _, err := c.Pay(context.Background(), 9, 1, ViaWap); err != nil {
		t.Errorf("a way without a call: %v", err)
	}
	book.row.State = Cancelled
	if _, err := c.Pay(context.Background(), 9, 1, ViaWap); AsError(err).Code != WrongState {
		t.Errorf("got %v for a cancelled order, want wrong_state", err)
	}
}

// Nobody pays what is not theirs, not pending, or over; a gateway without an answer is unknown, never a no (I6).
func TestPayRefuses(t *testing.T) {
	t.Parallel()
	is := func(state OrderState) func(*Cashier, *wordyGateway, *tradeStore) {
		return func(_ *Cashier, _ *wordyGateway, b *tradeStore) { b.row.State = state }
	}
	says := func(err error) func(*Cashier, *wordyGateway, *tradeStore) {
		return func(_ *Cashier, g *wordyGateway, _ *tradeStore) { g.err = err }
	}
	late := func(_ *Cashier, _ *wordyGateway, b *tradeStore) { b.row.PayBy = 1_010_000 }
	for name, c := range map[string]struct {
		change func(*Cashier, *wordyGateway, *tradeStore)
		user   ID
		order  ID
		via    PayVia
		want   Code
	}{
		"no such way":        {nil, 9, 1, "cash", BadRequest},
		"no gateway":         {func(c *Cashier, _ *wordyGateway, _ *tradeStore) { c.Gateway = nil }, 9, 1, ViaPage, UnknownOp},
		"another user":       {nil, 8, 1, ViaPage, NotFound},
		"still reserved":     {nil, 8, 77, ViaPage, Busy},
		"paid":               {is(Paid), 9, 1, ViaPage, WrongState},
		"expired":            {is(Expired), 9, 1, ViaPage, OrderExpired},
		"in the last moment": {late, 9, 1, ViaPage, OrderExpired},
		"book away":          {func(_ *Cashier, _ *wordyGateway, b *tradeStore) { b.err = ErrTransient }, 9, 1, ViaPage, Busy},
		"gateway away":       {says(ErrTransient), 9, 1, ViaQR, Busy},
		"gateway refuses":    {says(ErrGatewayRefused), 9, 1, ViaQR, WrongState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cashier, gateway, book, _ := newTestCashier()
			if c.change != nil {
				c.change(cashier, gateway, book)
			}
			if _, err := cashier.Pay(context.Background(), c.user, c.order, c.via); AsError(err).Code != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// P3, P8: the buyer hears of the payment after its commit; a repeat of what was told costs nothing more.
func TestSettleTellsAfterTheCommit(t *testing.T) {
	t.Parallel()
	c, _, book, _ := newTestCashier()
	for range 2 {
		trade := Trade{Order: 1, No: "T1", State: TradePaid, AmountFen: 4900}
		must(t, c.Settle(context.Background(), trade))
		book.row.ToldRev = 2
	}
	if want := []string{"receive", "sell 1", "tell 1", "receive"}; !slices.Equal(book.steps, want) {
		t.Errorf("steps %v, want %v", book.steps, want)
	}
	for _, state := range []TradeState{TradeAbsent, TradeWaiting, TradeClosed} {
		if err := c.Settle(context.Background(), Trade{Order: 1, State: state}); err != nil || len(book.steps) != 4 {
			t.Errorf("state %d changed something: %v, %v", state, book.steps, err)
		}
	}
	book.outcome = PaymentAmount
	if err := c.Settle(context.Background(), Trade{Order: 1, State: TradePaid}); !errors.Is(err, ErrTradeOdd) ||
		c.Counts().Odd.Load() != 1 {
		t.Errorf("odd money: %v", err)
	}
}

// P5, P8: an order with an opened payment ends only by the gateway's definite word.
func TestEndNeedsTheGatewaysWord(t *testing.T) {
	t.Parallel()
	const before, at = 999_999, 1_000_000 // Redis time is 1,000,000
	for name, c := range map[string]struct {
		word  Trade
		err   error
		payBy Millis
		to    OrderState
		want  OrderState // "": nothing is known to have ended
	}{
		"closed":                     {Trade{State: TradeClosed}, nil, at, Expired, Expired},
		"absent at the deadline":     {Trade{State: TradeAbsent}, nil, at, Expired, Expired},
		"absent before the deadline": {Trade{State: TradeAbsent}, nil, at + 1, Expired, ""},
		"absent, buyer gives up":     {Trade{State: TradeAbsent}, nil, at + 1, Cancelled, Cancelled},
		"still waiting":              {Trade{State: TradeWaiting}, nil, before, Expired, ""},
		"no answer":                  {Trade{}, ErrTransient, before, Expired, ""},
		"refuses to answer":          {Trade{}, ErrGatewayRefused, before, Cancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cashier, gateway, book, inventory := newTestCashier()
			gateway.trade, gateway.err, book.row.PayBy = c.word, c.err, c.payBy
			row, err := cashier.end(context.Background(), book.row, c.to)
			if row.State != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrTransient) {
				t.Fatalf("%s, %v; want %q", row.State, err, c.want)
			}
			if returned := len(inventory.returned); returned != 0 != (c.want != "") {
				t.Errorf("returned %d, steps %v", returned, book.steps)
			}
		})
	}
}

// P5: whoever waits for a silent gateway holds nobody up, is asked about once, and rests when there is no answer.
func TestSilentGatewayHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, gateway, book, inventory := newTestCashier()
		gateway.wait, gateway.trade.State = make(chan struct{}), TradeClosed
		book.row.PayBy, book.row.TradeOpened = 999_000, 900_000
		x, due, _, _ := newTestExpirer(book.row, Order{ID: 2, Sale: 7, State: Expired, Hold: 3, Rev: 2, ToldRev: 2})
		closer := NewTradeCloser(c)
		x.Closer = closer
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = closer.Run(ctx) }()

		if finished, err := x.Due(ctx, 0, []ID{1, 2}); err != nil || !slices.Equal(finished, []ID{2}) {
			t.Fatalf("finished %v, %v", finished, err)
		}
		if others := x.Closer.Others([]ID{1, 2, 3}); !slices.Equal(others, []ID{2, 3}) {
			t.Errorf("offered again while at hand: %v", others)
		}
		time.Sleep(closePatience + time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if others := x.Closer.Others([]ID{1}); len(others) != 0 || len(inventory.returned) != 0 {
			t.Errorf("not left alone after no answer: %v, returned %v", others, inventory.returned)
		}
		time.Sleep(closeRest)
		close(gateway.wait)
		if finished, err := x.Due(ctx, 0, []ID{1}); err != nil || len(finished) != 0 {
			t.Fatalf("finished %v, %v", finished, err)
		}
		synctest.Wait()
		if len(inventory.returned) != 1 || book.row.State != Expired {
			t.Errorf("%s, returned %v, steps %v %v", book.row.State, inventory.returned, book.steps, due.steps)
		}
		stop()
	})
}

// P5: an order of a locked sale stays pending. A buyer who cancels it receives busy; the closer retries after a delay.
func TestOrderOfLockedSaleStaysPending(t *testing.T) {
	t.Parallel()
	c, gateway, book, inventory := newTestCashier()
	gateway.trade.State, book.locked, book.row.PayBy, book.row.TradeOpened = TradeClosed, true, 999_000, 900_000
	closer := NewTradeCloser(c)
	if _, err := closer.Cancel(t.Context(), book.row); AsError(err).Code != Busy || !errors.Is(err, ErrTransient) {
		t.Errorf("cancel returned %v, want busy", err)
	}
	closer.Offer([]Order{book.row}, inventory.now)
	closer.RunOnce(t.Context())
	if rest := closer.Others([]ID{1}); len(rest) != 0 || closer.Waiting() != 1 || c.counts.Closed.Load() != 0 {
		t.Errorf("offered again at once: %v; waiting %d, want 1", rest, closer.Waiting())
	}
}

// A trade is asked about soon, at least every half minute while its order lives, ever more rarely after that, and never
// again once it is paid.
func TestNextLook(t *testing.T) {
	t.Parallel()
	opened := OpenedTrade{Order: 1, OpenedAt: 1_000_000, ExpiresAt: 1_290_000}
	for name, c := range map[string]struct {
		order Order
		now   Millis
		fault bool
		want  Millis // from now; 0: never
	}{
		"fresh": {Order{State: Pending}, 1_002_000, false, 5_000},
		"older": {Order{State: Pending}, 1_040_000, false, 20_000},
		"old":   {Order{State: Pending}, 1_200_000, false, 30_000},
		"watched": {
			Order{State: Pending, CreatedAt: 1_000_000, TradeOpened: 1_000_000}, 1_002_000, false, 120_000,
		},
		"cancelled early":     {Order{State: Cancelled}, 1_200_000, false, 30_000},
		"just over":           {Order{State: Expired}, 1_300_000, false, 30_000},
		"over for long":       {Order{State: Expired}, 1_290_000 + 3_600_000, false, 3_600_000},
		"no answer":           {Order{State: Expired}, 1_290_000 + 3_600_000, true, 30_000},
		"over for a day":      {Order{State: Expired}, 1_290_000 + 90_000_000, false, 0},
		"paid":                {Order{State: Paid}, 1_200_000, false, 0},
		"late money has come": {Order{State: Expired, TradeNo: "T1"}, 1_300_000, false, 0},
	} {
		got := nextLook(c.order, opened, c.now, c.fault)
		if got != 0 {
			got -= c.now
		}
		if got != c.want {
			t.Errorf("%s: in %d ms, want %d", name, got, c.want)
		}
	}
}
