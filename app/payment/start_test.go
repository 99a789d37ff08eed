package payment

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// fixedGateway returns the trade and error that a test sets.
type fixedGateway struct {
	Lister
	*fakes.Trace
	trade   Trade
	err     error
	wait    chan struct{} // the gateway replies when it is closed; nil: at once
	request PayRequest
}

func (g *fixedGateway) Pay(_ context.Context, r PayRequest) (Payment, error) {
	g.Add("gateway pay")
	g.request = r
	return Payment{URL: "https://gateway.example/" + r.Order.String()}, g.err
}

func (g *fixedGateway) reply(ctx context.Context, call string, order shop.ID) (Trade, error) {
	g.Add("gateway %s", call)
	if g.wait != nil {
		select {
		case <-g.wait:
		case <-ctx.Done():
			return Trade{}, shop.ErrTransient
		}
	}
	t := g.trade
	t.Order = order
	return t, g.err
}

func (g *fixedGateway) Query(ctx context.Context, order shop.ID) (Trade, error) {
	return g.reply(ctx, "query", order)
}

func (g *fixedGateway) Close(ctx context.Context, order shop.ID) (Trade, error) {
	return g.reply(ctx, "close", order)
}

func (g *fixedGateway) Refund(context.Context, RefundRequest) error { return g.err }

func (g *fixedGateway) Refunded(context.Context, RefundRequest) (bool, error) { return false, g.err }

func (g *fixedGateway) VerifyNotification(url.Values) (Trade, error) { return g.trade, g.err }

// tradeStore contains one order of the shop and records the sequence of its calls.
type tradeStore struct {
	Trades
	Orders
	*fakes.Trace
	row     shop.Order
	outcome Outcome
	err     error
	locked  bool // the row of the sale is locked
}

func (t *tradeStore) OpenTrade(
	_ context.Context, _, user shop.ID, now shop.Millis, _ time.Duration,
) (shop.Order, error) {
	if user != t.row.User {
		return shop.Order{}, shop.ErrNoRow
	}
	t.Add("open")
	if t.row.State == shop.Pending {
		t.row.TradeOpened = now
	}
	return t.row, t.err
}

func (t *tradeStore) Order(context.Context, shop.ID) (shop.Order, error) {
	return shop.Order{}, shop.ErrNoRow
}

func (*tradeStore) Checking(context.Context, shop.ID) ([]shop.Order, error) { return nil, nil }

func (t *tradeStore) OrdersByID(context.Context, []shop.ID) ([]shop.Order, error) { return nil, nil }

func (t *tradeStore) Receive(context.Context, Trade, shop.Millis) (shop.Order, Outcome, error) {
	t.Add("receive")
	t.row.State, t.row.Rev, t.row.Touched = shop.Paid, 2, true
	return t.row, t.outcome, t.err
}

func (t *tradeStore) EndTraded(
	_ context.Context, _ []shop.ID, to shop.OrderState, now shop.Millis,
) ([]shop.Order, error) {
	t.Add("end as %s", to)
	if t.locked {
		return []shop.Order{t.row}, nil
	}
	t.row.State, t.row.CancelledAt, t.row.Rev, t.row.Touched = to, now, 2, true
	return []shop.Order{t.row}, t.err
}

const payWindow = 5 * time.Minute

// newTestPayments returns a PaymentService with the pending order 1 of user 9, created a minute ago.
func newTestPayments() (*PaymentService, *fixedGateway, *tradeStore, *fakes.Redis) {
	tr := &fakes.Trace{}
	inventory := &fakes.Redis{Trace: tr, At: 1_000_000}
	trades := &tradeStore{Trace: tr, outcome: OutcomeTaken, row: shop.Order{
		ID: 1, Sale: 7, User: 9, State: shop.Pending, Hold: 1, Rev: 1, PublishedRev: 1, AmountFen: 4900,
		ProductName: "Lamp",
		PayBy:       1_000_000 + shop.Millis((payWindow - time.Minute).Milliseconds()),
	}}
	gateway := &fixedGateway{Trace: tr}
	orders := &fakes.DueStore{Trace: tr}
	return &PaymentService{
		ShopID:  "here",
		Gateway: gateway, Stock: inventory, Waiting: inventory.Waiting, Trades: trades, Orders: trades,
		Effects: effectsOf(inventory, orders, &fakes.Notifier{Trace: tr}), Margin: shop.PayMargin(payWindow),
	}, gateway, trades, inventory
}

// lateRowStore has an order without a row when OpenTrade is called. Later reads return row and err.
type lateRowStore struct {
	Trades
	Orders
	row shop.Order
	err error
}

func (s *lateRowStore) OpenTrade(context.Context, shop.ID, shop.ID, shop.Millis, time.Duration) (shop.Order, error) {
	return shop.Order{}, shop.ErrNoRow
}

func (s *lateRowStore) Order(context.Context, shop.ID) (shop.Order, error) { return s.row, s.err }

func (*lateRowStore) Checking(context.Context, shop.ID) ([]shop.Order, error) { return nil, nil }

// P2: if OpenTrade finds no row, Pay reads the order again. It returns busy if the row exists by now, and not_found for
// an unknown order or the order of another user.
func TestPayDistinguishesUnwrittenFromMissingOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  shop.Order
		err  error
		want shop.Code
	}{
		"no such order":               {err: shop.ErrNoRow, want: shop.NotFound},
		"an order of another user":    {row: shop.Order{ID: 1, User: 8}, want: shop.NotFound},
		"the row exists":              {row: shop.Order{ID: 1, User: 9}, want: shop.Busy},
		"the database is unreachable": {err: shop.ErrTransient, want: shop.Busy},
	} {
		orders := &lateRowStore{row: c.row, err: c.err}
		payments, _, _, _ := newTestPayments()
		payments.Trades, payments.Orders = orders, orders
		if _, err := payments.Pay(t.Context(), 9, 1, ViaPage); shop.AsError(err).Code != c.want {
			t.Errorf("%s: got error %v, want code %s", name, err, c.want)
		}
	}
}

// P8: the trade is stored before the gateway is called, and it ends before the order ends. The reply contains the end
// of the trade.
func TestPayStoresTradeBeforeGatewayCall(t *testing.T) {
	t.Parallel()
	payments, gateway, trades, _ := newTestPayments()
	trades.row.PayBy += 750
	until := trades.row.PayBy - 750 - 10_000 // the gateway uses whole seconds; the margin is 10 s
	got, err := payments.Pay(context.Background(), 9, 1, ViaWap)
	if err != nil || got.URL == "" || got.PayBy != trades.row.PayBy || got.Until != until {
		t.Fatalf("got payment %+v and error %v, want payment until %d", got, err, until)
	}
	if want := []string{"open", "gateway pay"}; !slices.Equal(trades.Steps, want) {
		t.Errorf("got steps %v, want %v", trades.Steps, want)
	}
	want := PayRequest{
		Order: 1, Via: ViaWap, AmountFen: 4900, Subject: "Lamp", ExpiresAt: until,
		Mark: Mark{Shop: "here", Sale: trades.row.Sale, User: 9, Qty: trades.row.Qty},
	}
	if gateway.request != want {
		t.Errorf("got the request %+v, want %+v", gateway.request, want)
	}
}

// A repeated pay returns the stored payment without a gateway call, after reading the row. The rate of calls for QR
// codes is limited.
func TestRepeatedPayMakesNoGatewayCall(t *testing.T) {
	t.Parallel()
	payments, _, trades, _ := newTestPayments()
	calls := 0
	payments.MayCall = func(user shop.ID) error {
		if calls++; user != 9 || calls > 1 {
			return shop.Fail(shop.RateLimited, "too many calls")
		}
		return nil
	}
	first, err := payments.Pay(context.Background(), 9, 1, ViaQR)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if again, err := payments.Pay(context.Background(), 9, 1, ViaQR); err != nil || again != first {
			t.Fatalf("repeated pay: got payment %+v and error %v, want %+v", again, err, first)
		}
	}
	if n := len(trades.Steps); n != 102 || calls != 1 {
		t.Errorf("got %d steps and %d QR calls, want 102 (101 reads, 1 gateway call) and 1", n, calls)
	}
	payments.payables.stored = nil
	if _, err := payments.Pay(context.Background(), 9, 1, ViaQR); shop.AsError(err).Code != shop.RateLimited {
		t.Errorf("QR payment above the limit: got error %v, want rate_limited", err)
	}
	// ViaWap only signs an address, so the limit of gateway calls does not apply.
	if _, err := payments.Pay(context.Background(), 9, 1, ViaWap); err != nil {
		t.Errorf("payment that only signs: got %v, want no error", err)
	}
	trades.row.State = shop.Cancelled
	if _, err := payments.Pay(context.Background(), 9, 1, ViaWap); shop.AsError(err).Code != shop.WrongState {
		t.Errorf("got %v for a cancelled order, want wrong_state", err)
	}
}

// Only the buyer of a pending, unexpired order can pay it. A gateway without a reply is an unknown outcome, never a
// rejection (I6).
func TestPayRejectsUnpayableOrders(t *testing.T) {
	t.Parallel()
	inState := func(state shop.OrderState) func(*PaymentService, *fixedGateway, *tradeStore) {
		return func(_ *PaymentService, _ *fixedGateway, trades *tradeStore) { trades.row.State = state }
	}
	gatewayError := func(err error) func(*PaymentService, *fixedGateway, *tradeStore) {
		return func(_ *PaymentService, g *fixedGateway, _ *tradeStore) { g.err = err }
	}
	nearDeadline := func(_ *PaymentService, _ *fixedGateway, trades *tradeStore) { trades.row.PayBy = 1_010_000 }
	for name, c := range map[string]struct {
		change func(*PaymentService, *fixedGateway, *tradeStore)
		user   shop.ID
		order  shop.ID
		via    PayVia
		want   shop.Code
	}{
		"unknown way to pay": {nil, 9, 1, "cash", shop.BadRequest},
		"no gateway": {func(
			payments *PaymentService, _ *fixedGateway, _ *tradeStore,
		) {
			payments.Gateway = nil
		}, 9, 1, ViaPage, shop.UnknownOp},
		"another user":       {nil, 8, 1, ViaPage, shop.NotFound},
		"still reserved":     {nil, 8, 77, ViaPage, shop.Busy}, // fakes.Redis lists the reservation 77
		"paid order":         {inState(shop.Paid), 9, 1, ViaPage, shop.WrongState},
		"expired order":      {inState(shop.Expired), 9, 1, ViaPage, shop.OrderExpired},
		"in the last moment": {nearDeadline, 9, 1, ViaPage, shop.OrderExpired},
		"database unreachable": {func(
			_ *PaymentService, _ *fixedGateway, trades *tradeStore,
		) {
			trades.err = shop.ErrTransient
		}, 9, 1, ViaPage, shop.Busy},
		"gateway unreachable": {gatewayError(shop.ErrTransient), 9, 1, ViaQR, shop.Busy},
		"gateway refuses":     {gatewayError(ErrGatewayRefused), 9, 1, ViaQR, shop.WrongState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payments, gateway, trades, _ := newTestPayments()
			if c.change != nil {
				c.change(payments, gateway, trades)
			}
			if _, err := payments.Pay(context.Background(), c.user, c.order, c.via); shop.AsError(err).Code != c.want {
				t.Errorf("got error %v, want code %s", err, c.want)
			}
		})
	}
}

// P3, P8: the buyer is notified after the commit of the payment. A repeat of a published state has no further effects.
func TestSettlePublishesAfterCommit(t *testing.T) {
	t.Parallel()
	payments, _, trades, _ := newTestPayments()
	for range 2 {
		trade := Trade{Order: 1, No: "T1", State: TradePaid, AmountFen: 4900}
		fakes.Must(t, payments.Settle(context.Background(), trade))
		trades.row.PublishedRev = 2
	}
	if want := []string{"receive", "sell 1", "publish 1", "receive"}; !slices.Equal(trades.Steps, want) {
		t.Errorf("got steps %v, want %v", trades.Steps, want)
	}
	for _, state := range []TradeState{TradeAbsent, TradeWaiting, TradeClosed} {
		err := payments.Settle(context.Background(), Trade{Order: 1, State: state})
		if err != nil || len(trades.Steps) != 4 {
			t.Errorf("state %d: got steps %v and error %v, want no further effects", state, trades.Steps, err)
		}
	}
	trades.outcome = OutcomeWrongAmount
	err := payments.Settle(context.Background(), Trade{Order: 1, State: TradePaid})
	if !errors.Is(err, ErrTradeMismatch) ||
		payments.Counts().Anomalies.Load() != 1 {
		t.Errorf("a trade that does not match: got %v, want ErrTradeMismatch and one anomaly", err)
	}
}

// P5, P8: an order with an opened payment ends only after a definite reply of the gateway.
func TestOrderEndsOnlyAfterGatewayReply(t *testing.T) {
	t.Parallel()
	const before, at = 999_999, 1_000_000 // Redis time is 1,000,000
	for name, c := range map[string]struct {
		reply Trade
		err   error
		payBy shop.Millis
		to    shop.OrderState
		want  shop.OrderState // "": the order does not end
	}{
		"closed":                     {Trade{State: TradeClosed}, nil, at, shop.Expired, shop.Expired},
		"absent at the deadline":     {Trade{State: TradeAbsent}, nil, at, shop.Expired, shop.Expired},
		"absent before the deadline": {Trade{State: TradeAbsent}, nil, at + 1, shop.Expired, ""},
		"absent, buyer cancels":      {Trade{State: TradeAbsent}, nil, at + 1, shop.Cancelled, shop.Cancelled},
		"waiting for the buyer":      {Trade{State: TradeWaiting}, nil, before, shop.Expired, ""},
		"no reply":                   {Trade{}, shop.ErrTransient, before, shop.Expired, ""},
		"gateway refuses the query":  {Trade{}, ErrGatewayRefused, before, shop.Cancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payments, gateway, trades, inventory := newTestPayments()
			gateway.trade, gateway.err, trades.row.PayBy = c.reply, c.err, c.payBy
			row, err := payments.end(context.Background(), trades.row, c.to)
			ends := c.want != ""
			if row.State != c.want || (err == nil) != ends {
				t.Fatalf("got state %s and error %v, want state %q", row.State, err, c.want)
			}
			if !ends && !errors.Is(err, shop.ErrTransient) {
				t.Fatalf("got error %v, want ErrTransient", err)
			}
			if returned := len(inventory.Returned); (returned > 0) != ends {
				t.Errorf("got %d returns, want them only if the order ends; steps %v", returned, trades.Steps)
			}
		})
	}
}

// P5: an order whose gateway call gets no reply delays no other order. After the timeout the closer pauses before it
// retries, and the units are returned once.
func TestSilentGatewayDelaysNoOtherOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		payments, gateway, trades, inventory := newTestPayments()
		gateway.wait, gateway.trade.State = make(chan struct{}), TradeClosed
		trades.row.PayBy, trades.row.TradeOpened = 999_000, 900_000
		tr, closer := &fakes.Trace{}, NewTradeCloser(payments)
		due := &fakes.DueStore{Trace: tr, Rows: []shop.Order{
			trades.row, {ID: 2, Sale: 7, State: shop.Expired, Hold: 3, Rev: 2, PublishedRev: 2},
		}}
		redis := &fakes.Redis{Trace: tr, At: 1_000_000}
		expirer := &order.Expirer{
			Stock: redis, Store: due, Effects: effectsOf(redis, due, &fakes.Notifier{Trace: tr}), Closer: closer,
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = closer.Run(ctx) }()

		if finished, err := expirer.Due(ctx, 0, []shop.ID{1, 2}); err != nil || !slices.Equal(finished, []shop.ID{2}) {
			t.Fatalf("got finished orders %v and error %v, want order 2", finished, err)
		}
		if others := expirer.Closer.NotClosing([]shop.ID{1, 2, 3}); !slices.Equal(others, []shop.ID{2, 3}) {
			t.Errorf("orders that are not closing: got %v, want 2 and 3", others)
		}
		time.Sleep(closeTimeout + time.Millisecond) // by the clock of synctest
		synctest.Wait()
		if others := expirer.Closer.NotClosing([]shop.ID{1}); len(others) != 0 || len(inventory.Returned) != 0 {
			t.Errorf("after the timeout of the gateway: got orders %v without a pause and returns %v, want none", others, inventory.Returned)
		}
		time.Sleep(closePause)
		close(gateway.wait)
		if finished, err := expirer.Due(ctx, 0, []shop.ID{1}); err != nil || len(finished) != 0 {
			t.Fatalf("got finished orders %v and error %v, want none", finished, err)
		}
		synctest.Wait()
		if len(inventory.Returned) != 1 || trades.row.State != shop.Expired {
			t.Errorf("got state %s and returns %v, want expired and one return; steps %v %v", trades.row.State,
				inventory.Returned, trades.Steps, due.Steps)
		}
		stop()
	})
}

// P5: an order of a locked sale stays pending. A buyer who cancels it receives busy; the closer retries after a delay.
func TestOrderOfLockedSaleStaysPending(t *testing.T) {
	t.Parallel()
	c, gateway, trades, inventory := newTestPayments()
	gateway.trade.State, trades.locked, trades.row.PayBy, trades.row.TradeOpened = TradeClosed, true, 999_000, 900_000
	closer := NewTradeCloser(c)
	if _, err := closer.Cancel(t.Context(), trades.row); shop.AsError(err).Code != shop.Busy ||
		!errors.Is(err, shop.ErrTransient) {
		t.Errorf("cancel returned %v, want busy", err)
	}
	closer.Offer([]shop.Order{trades.row}, inventory.At)
	closer.RunOnce(t.Context())
	if others := closer.NotClosing([]shop.ID{1}); len(others) != 0 || closer.Waiting() != 1 ||
		c.counts.Closed.Load() != 0 {
		t.Errorf("got orders %v without a pause, want none; waiting %d, want 1", others, closer.Waiting())
	}
}

// A trade is queried soon after it opens, at least every 30 s until it expires, then for a day at growing intervals,
// and never after a payment.
func TestNextQueryPauseGrowsWithAge(t *testing.T) {
	t.Parallel()
	opened := OpenedTrade{Order: 1, OpenedAt: 1_000_000, ExpiresAt: 1_290_000}
	for name, c := range map[string]struct {
		order shop.Order
		now   shop.Millis
		fault bool
		want  shop.Millis // from now; 0: never
	}{
		"opened 2 s ago":              {shop.Order{State: shop.Pending}, 1_002_000, false, 5_000},
		"opened 40 s ago":             {shop.Order{State: shop.Pending}, 1_040_000, false, 20_000},
		"opened 200 s ago":            {shop.Order{State: shop.Pending}, 1_200_000, false, 30_000},
		"cancelled early":             {shop.Order{State: shop.Cancelled}, 1_200_000, false, 30_000},
		"ended 10 s ago":              {shop.Order{State: shop.Expired}, 1_300_000, false, 30_000},
		"ended an hour ago":           {shop.Order{State: shop.Expired}, 1_290_000 + 3_600_000, false, 3_600_000},
		"no reply":                    {shop.Order{State: shop.Expired}, 1_290_000 + 3_600_000, true, 30_000},
		"ended a day ago":             {shop.Order{State: shop.Expired}, 1_290_000 + 90_000_000, false, 0},
		"paid":                        {shop.Order{State: shop.Paid}, 1_200_000, false, 0},
		"a late payment was received": {shop.Order{State: shop.Expired, TradeNo: "T1"}, 1_300_000, false, 0},
	} {
		got := nextQuery(c.order, opened, c.now, c.fault)
		if got != 0 {
			got -= c.now
		}
		if got != c.want {
			t.Errorf("%s: got the next query in %d ms, want %d", name, got, c.want)
		}
	}
}
