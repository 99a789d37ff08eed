package alipay_test

import (
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"stampede/app/alipay"
	"stampede/app/alipay/sim"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// Every payment method leads to one trade: absent, waiting, paid, then reported by a verified notification. Repeated
// attempts do not add a trade.
func TestEveryPaymentMethodMakesOneTrade(t *testing.T) {
	t.Parallel()
	for i, via := range []payment.PayVia{payment.ViaPage, payment.ViaWap, payment.ViaApp, payment.ViaQR} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			c := newTestSetup(t, nil)
			order := shop.ID(7301444480512000257 + i)
			kit.Must(t, errOf(c.Pay(t.Context(), request(order, via))))
			if got := c.query(t, order); got != (payment.Trade{Order: order, State: payment.TradeAbsent}) {
				t.Fatalf("before the buyer opens the payment page: got %+v, want %v", got, payment.TradeAbsent)
			}
			c.pay(t, order, via)
			c.pay(t, order, via)
			if got := c.query(t, order); got.State != payment.TradeWaiting || got.No == "" || got.AmountFen != 19801 ||
				got.PaidAt != 0 {
				t.Fatalf("after the buyer has opened the payment page: got %+v, want %v", got, payment.TradeWaiting)
			}
			kit.Must(t, c.sim.Pay(order.String()))
			paid := c.query(t, order)
			if paid.State != payment.TradePaid || time.Since(paid.PaidAt.Time()).Abs() > time.Minute {
				t.Fatalf("after the payment: got %+v, want %v, paid now", paid, payment.TradePaid)
			}
			paid.Mark = request(order, via).Mark // only in notifications and lists
			notified, err := c.VerifyNotification(c.notifications(t, 1)[0])
			if err != nil || notified != paid {
				t.Errorf("notification: got %+v, %v, want %+v", notified, err, paid)
			}
			if l := c.sim.Ledger(); l.TakenFen != 19801 || len(l.Trades) != 1 {
				t.Errorf("ledger: got %+v, want 19801 fen and one trade", l)
			}
		})
	}
}

func TestCloseReturnsResultingState(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, nil)
	for i, step := range []struct {
		name  string
		begin func(order shop.ID)
		want  payment.TradeState
		later payment.TradeState // state of a query after the close
	}{
		{"a trade that does not exist", func(shop.ID) {}, payment.TradeAbsent, payment.TradeAbsent},
		{"a waiting trade", func(order shop.ID) { c.pay(t, order, payment.ViaPage) }, payment.TradeClosed, payment.TradeClosed},
		{"a paid trade", func(order shop.ID) {
			c.pay(t, order, payment.ViaPage)
			kit.Must(t, c.sim.Pay(order.String()))
		}, payment.TradePaid, payment.TradePaid},
		{"a closed trade", func(order shop.ID) {
			c.pay(t, order, payment.ViaPage)
			kit.Must(t, c.sim.Cancel(order.String()))
		}, payment.TradeClosed, payment.TradeClosed},
		{"a trade paid before the close request", func(order shop.ID) {
			c.pay(t, order, payment.ViaPage)
			c.inject(t, sim.Fault{Kind: sim.PaidBeforeClose, Order: order.String(), Times: 1})
		}, payment.TradePaid, payment.TradePaid},
		{"a trade paid although the close was confirmed", func(order shop.ID) {
			c.pay(t, order, payment.ViaWap)
			c.inject(t, sim.Fault{Kind: sim.PaidAfterClose, Order: order.String(), Times: 1})
		}, payment.TradeClosed, payment.TradePaid},
	} {
		order := shop.ID(100 + i)
		step.begin(order)
		if got, err := c.Close(t.Context(), order); err != nil || got.State != step.want || got.Order != order {
			t.Errorf("%s: got %+v, %v, want state %v", step.name, got, err, step.want)
		}
		if got := c.query(t, order); got.State != step.later {
			t.Errorf("%s: a query after the close: got %+v, want state %v", step.name, got, step.later)
		}
	}
}

// P8: a refund is made once for its request number, even if it is requested again.
func TestRepeatedRefundMovesMoneyOnce(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, nil)
	const order = shop.ID(7)
	c.pay(t, order, payment.ViaPage)
	r := payment.RefundRequest{Order: order, Request: "7-1", AmountFen: 9801, Reason: "buyer"}
	if err := c.Refund(t.Context(), r); !errors.Is(err, payment.ErrGatewayRefused) {
		t.Fatalf("a refund before the payment: got %v, want %v", err, payment.ErrGatewayRefused)
	}
	kit.Must(t, c.sim.Pay(order.String()))
	if done, err := c.Refunded(t.Context(), r); done || err != nil {
		t.Fatalf("a query before the refund: got %v, %v, want false", done, err)
	}
	for range 3 {
		kit.Must(t, c.Refund(t.Context(), r))
	}
	if done, err := c.Refunded(t.Context(), r); !done || err != nil {
		t.Fatalf("a query after the refund: got %v, %v, want true", done, err)
	}
	other := r
	other.AmountFen = 1
	if err := c.Refund(t.Context(), other); !errors.Is(err, payment.ErrGatewayRefused) {
		t.Errorf("another amount with the same request number: got %v, want %v", err, payment.ErrGatewayRefused)
	}
	if _, err := c.Refunded(t.Context(), other); !errors.Is(err, payment.ErrGatewayRefused) {
		t.Errorf("a query for another amount with the same request number: got %v, want %v", err, payment.ErrGatewayRefused)
	}
	secondRefund := payment.RefundRequest{Order: order, Request: "7-2", AmountFen: 10_000}
	kit.Must(t, c.Refund(t.Context(), secondRefund))
	if l := c.sim.Ledger(); l.RefundedFen != 19801 {
		t.Errorf("ledger: got %d fen refunded, want 19801", l.RefundedFen)
	}
	if got := c.query(t, order); got.State != payment.TradeClosed || got.RefundedFen != 19801 {
		t.Errorf("after the complete refund: got %+v, want %v and 19801 fen refunded", got, payment.TradeClosed)
	}
}

// I6: without the reply that the gateway signed, the result is unknown.
func TestUnclearReplyIsTransient(t *testing.T) {
	t.Parallel()
	for i, kind := range []sim.Kind{
		sim.ErrorAfterSuccess, sim.Lost, sim.Garbage, sim.InvalidSignature, sim.Down,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := newTestSetup(t, nil)
			order := shop.ID(1 + i)
			c.pay(t, order, payment.ViaPage)
			c.inject(t, sim.Fault{Kind: kind, Times: 1})
			if _, err := c.Close(t.Context(), order); !errors.Is(err, shop.ErrTransient) {
				t.Fatalf("close: got %v, want a transient fault", err)
			}
			want := payment.TradeClosed
			if kind == sim.Down {
				want = payment.TradeWaiting
			}
			if got := c.query(t, order); got.State != want {
				t.Errorf("a later query: got %+v, want state %v", got, want)
			}
			if got, err := c.Close(t.Context(), order); err != nil || got.State != payment.TradeClosed {
				t.Errorf("a repeated close: got %+v, %v, want %v", got, err, payment.TradeClosed)
			}
		})
	}
}

func TestSlowGatewayCallEndsAtTimeout(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, func(o *alipay.Options) { o.Timeout = 50 * time.Millisecond })
	c.inject(t, sim.Fault{Kind: sim.Slow, DelayMS: 60_000})
	if _, err := c.Query(t.Context(), 1); !errors.Is(err, shop.ErrTransient) {
		t.Errorf("got %v, want a transient fault", err)
	}
}

// The gateway has a resolution of one second: the trade never ends later than requested.
func TestTimeExpireIsRoundedDown(t *testing.T) {
	t.Parallel()
	c := newTestSetup(t, nil)
	r := request(9, payment.ViaPage)
	r.ExpiresAt = shop.MillisOf(time.Now().Add(time.Hour).Truncate(time.Second)) + 999
	p, err := c.Pay(t.Context(), r)
	kit.Must(t, err)
	kit.Must(t, errOf(c.sim.Open(p.URL)))
	if got := c.sim.Ledger().Trades[0].ExpiresAt.UnixMilli(); got != int64(r.ExpiresAt)-999 {
		t.Errorf("the trade expires at %d, want %d", got, r.ExpiresAt-999)
	}
}

// The limit applies to the decoded size of a compressed reply. A reply that decodes to 256 MB is read up to the limit,
// and its result is unknown (I6). The test does not run in parallel, because it measures the allocations of the whole
// process.
func TestReplySizeIsLimitedAfterDecoding(t *testing.T) {
	bomb := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		writer, zeros := gzip.NewWriter(w), make([]byte, 1<<20)
		for range 256 {
			if _, err := writer.Write(zeros); err != nil {
				return // the adapter has closed the connection
			}
		}
		_ = writer.Close()
	}))
	t.Cleanup(bomb.Close)
	c := newTestSetup(t, func(o *alipay.Options) { o.Gateway = bomb.URL })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Query(context.Background(), 7)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, shop.ErrTransient) || allocated > 32<<20 {
		t.Errorf("got %d bytes allocated and %v, want at most 32 MiB and a transient fault", allocated, err)
	}
}
