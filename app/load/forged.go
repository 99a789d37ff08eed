package load

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	forgedRate  = 1000.0 // notifications a second
	forgedTurns = 2      // windows without the flood, and as many with it
	forgedShare = 0.9    // of the flood that must really be sent
)

// What the server answers to a notification: to one that it believes, to one that it does not, and when it has no
// gateway.
const (
	believed    = "200 success"
	disbelieved = "200 failure"
	unknownPage = "404"
)

// forged measures reservations in turns, without and with a flood of forged payment notifications beside them.
func (b *bench) forged(ctx context.Context, r *Result) error {
	if b.shop.AlipayAppID == "" {
		return errors.New("nothing can be forged: STAMPEDE_ALIPAY_APP_ID is not set, as it should be on the server")
	}
	window := b.For / (2 * forgedTurns)
	w, err := b.shopping(ctx, fastestBuys, 2*forgedTurns*(warmUp+window))
	if err != nil {
		return err
	}
	w.finish, w.window = replied, window
	request := forgery(b.Address, b.shop.AlipayAppID, b.shop.AlipaySellerID)
	calm, flooded := &side{}, &side{}
	all := &flood{answers: make(map[string]int), losses: make(map[string]int)}
	var lasted time.Duration
	addresses := 0
	for i := range 2 * forgedTurns {
		if i%4 == 0 || i%4 == 3 { // each side is first as often as the other: what slows down by and by slows down both
			if err := calm.take(b.shares, func() (*pressed, error) { return b.crowd.press(ctx, w) }); err != nil {
				return err
			}
			continue
		}
		f, err := newFlood(b.crowd.target, request, forgedRate, warmUp+window)
		if err != nil {
			return err
		}
		addresses += len(f.open)
		err = flooded.take(b.shares, func() (*pressed, error) {
			p, took, err := b.pressUnder(ctx, w, f)
			lasted += took
			return p, err
		})
		f.close()
		if err != nil {
			return err
		}
		all.add(f)
	}
	r.took(&flooded.all)
	without, with := middle(calm.rates), middle(flooded.rates)
	r.figure("buys_per_second_without", without)
	r.figure("buys_per_second_with", with)
	if without > 0 {
		r.figure("ratio", with/without)
	}
	if b.PID != 0 {
		r.figure("server_cpu_us_per_buy_without", calm.microsPerBuy(w))
		r.figure("server_cpu_us_per_buy_with", flooded.microsPerBuy(w))
	}
	r.figure("forged_addresses", float64(addresses))
	r.flooded(all, lasted)
	return nil
}

// side is what the windows of one side found.
type side struct {
	rates []float64 // buys a second, window by window
	all   pressed
	spent time.Duration // of the server's processor time
}

func (s *side) take(shares processes, press func() (*pressed, error)) error {
	var p *pressed
	spent, err := shares.spent(func() (err error) {
		p, err = press()
		return err
	})
	if err != nil {
		return err
	}
	s.rates = append(s.rates, float64(p.Ops)/p.Seconds)
	s.all.add(p)
	s.spent += spent[serverName]
	return nil
}

// microsPerBuy counts the buys of the warm-ups, too.
func (s *side) microsPerBuy(w work) float64 {
	buys := float64(s.all.Ops) * (w.warmUp + w.window).Seconds() / w.window.Seconds()
	return s.spent.Seconds() * 1e6 / max(1, buys)
}

// pressUnder lets the crowd work under the flood, and answers how long that lasted.
func (b *bench) pressUnder(ctx context.Context, w work, f *flood) (p *pressed, lasted time.Duration, err error) {
	stop := make(chan struct{})
	var g errgroup.Group
	g.Go(func() (err error) {
		lasted, err = f.run(ctx, stop)
		return err
	})
	p, err = b.crowd.press(ctx, w)
	close(stop)
	err = errors.Join(err, g.Wait())
	return p, lasted, err
}

// flooded notes what became of a flood, and what should not have: a forged notification that was believed, or a flood
// that was none.
func (r *Result) flooded(f *flood, lasted time.Duration) {
	seconds := lasted.Seconds()
	r.figure("forged_sent_per_second", float64(f.sent)/seconds)
	r.figure("forged_answered_failure_per_second", float64(f.answers[disbelieved])/seconds)
	if n := f.answers[believed]; n > 0 {
		r.fail(fmt.Sprintf("%d forged notifications were believed", n))
	}
	for answer, n := range f.answers {
		switch {
		case strings.HasPrefix(answer, unknownPage):
			r.fail(fmt.Sprintf("%d notifications were answered 404: the server has no gateway (STAMPEDE_ALIPAY_APP_ID)",
				n))
		case answer != believed && answer != disbelieved:
			r.fail(fmt.Sprintf("%d notifications were answered %.60q", n, answer))
		}
	}
	for why, n := range f.losses {
		r.fail(fmt.Sprintf("%d connections of the flood were lost: %s", n, why))
	}
	if intended := forgedRate * seconds; float64(f.sent) < forgedShare*intended {
		r.fail(fmt.Sprintf("the flood was none: of %.0f notifications %d were sent", intended, f.sent))
	}
	if f.waiting > 0 {
		r.fail(fmt.Sprintf("%d notifications were never answered", f.waiting))
	}
}

// forgery is the request of a notification in which everything is right but the signature: a well-formed one, of the
// length that a key of 2048 bits makes, and below its modulus, so that the server has to compute to find out.
func forgery(host, appID, sellerID string) []byte {
	form := url.Values{
		"app_id": {appID}, "auth_app_id": {appID}, "charset": {"utf-8"}, "version": {"1.0"}, "sign_type": {"RSA2"},
		"notify_type": {"trade_status_sync"}, "notify_id": {"2026112100222120000000000000000001"},
		"notify_time": {"2026-11-21 12:00:05"}, "gmt_create": {"2026-11-21 11:59:50"},
		"gmt_payment":  {"2026-11-21 12:00:04"},
		"out_trade_no": {"7290000000000000001"}, "trade_no": {"2026112122001400000000000001"},
		"trade_status": {"TRADE_SUCCESS"},
		"total_amount": {"199.00"}, "receipt_amount": {"199.00"}, "buyer_pay_amount": {"199.00"},
		"invoice_amount": {"199.00"},
		"point_amount":   {"0.00"}, "subject": {"Flash sale order"}, "buyer_id": {"2088000000000002"},
		"fund_bill_list": {`[{"amount":"199.00","fundChannel":"ALIPAYACCOUNT"}]`},
		"sign":           {base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0x2a}, 256))},
	}
	if sellerID != "" {
		form.Set("seller_id", sellerID)
	}
	body := form.Encode()
	return []byte("POST /api/v1/payments/alipay/notify HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: Mozilla/4.0\r\n" +
		"Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// middle is the median.
func middle(of []float64) float64 {
	slices.Sort(of)
	n := len(of)
	return (of[(n-1)/2] + of[n/2]) / 2
}
