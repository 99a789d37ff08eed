package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
)

const (
	// payShare is the share of orders that are paid.
	payShare = 0.75
	// cancelShare is the share of orders that are cancelled; the others expire.
	cancelShare = 0.08
	// maxSettleWindow limits the time from which settle computes its delay.
	maxSettleWindow = time.Minute
	// cashierTimeout limits one request at the cashier.
	cashierTimeout = 5 * time.Second
)

// settle decides whether the shopper pays for a new order, cancels it or lets it expire. It ignores repeated events of
// the order. A goroutine of the visit pays or cancels after 10 % to 70 % of the shorter of the time to pay and
// maxSettleWindow: the gateway accepts no money shortly before the deadline.
func (s *shopper) settle(ctx context.Context, o *shop.Order) {
	if s.settled[o.ID] {
		return
	}
	s.settled[o.ID] = true
	window := min(o.PayBy.Sub(o.CreatedAt), maxSettleWindow)
	delay := window/10 + s.randomUpTo(window*6/10)
	var do func(ctx context.Context, order shop.ID) error
	switch share := s.random.Float64(); {
	case share < payShare:
		do = s.pay
	case share < payShare+cancelShare:
		do = s.cancel
	default:
		return
	}
	order := o.ID
	s.settling.Go(func() {
		if !shop.Sleep(ctx, delay) {
			return
		}
		if err := do(ctx, order); err != nil && ctx.Err() == nil {
			slog.DebugContext(ctx, s.name+" could not settle an order", "order", order, "err", err)
		}
	})
}

func (s *shopper) cancel(_ context.Context, order shop.ID) error {
	return s.conn.RetryOnCodes(func() error {
		_, err := s.conn.Cancel(order)
		return err
	}, shop.Busy, shop.RateLimited)
}

// pay opens the cashier and clicks its Pay button, as a buyer in a browser does. The button always redirects; only the
// order event confirms the payment. pay pays only at the simulated Alipay of the crowd, never at a real gateway.
func (s *shopper) pay(ctx context.Context, order shop.ID) error {
	if s.sim == "" {
		return nil
	}
	var payable payment.Payable
	err := s.conn.RetryOnCodes(func() (err error) {
		payable, err = s.conn.Pay(order, "page")
		return err
	}, shop.Busy, shop.RateLimited)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(payable.URL, s.sim+"/") {
		return fmt.Errorf("the payment is not at the simulated Alipay %s", s.sim)
	}
	cashier, err := redirectOf(ctx, http.MethodGet, payable.URL)
	if err != nil {
		return err
	}
	_, err = redirectOf(ctx, http.MethodPost, s.sim+cashier+"/pay")
	return err
}

// redirectOf sends a request to the simulated Alipay and returns the path of the redirect. Other responses are errors:
// they show why the trade cannot be paid.
func redirectOf(ctx context.Context, method, url string) (path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cashierTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", fmt.Errorf("cashier: %w", err)
	}
	// A transport returns redirects and does not follow them.
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("cashier: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusSeeOther {
		return "", fmt.Errorf("cashier: %s %s: got status %d, want a redirect", method, req.URL.Path, res.StatusCode)
	}
	return res.Header.Get("Location"), nil
}
