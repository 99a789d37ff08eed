package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"stampede/app"
	"stampede/app/wsclient"
)

const (
	thieves  = 50 // accounts that send what was recorded of others
	hoarders = 50
	hammers  = 10 // sockets of the account that floods, and as many connections over HTTP
	attempts = 20 // of a bot that is refused
)

// recruit makes bots, spread over so many addresses, and brings them in. Those whom the server has not let in when the
// sale opens stay out.
func (b *battle) recruit(n, addresses int) []*shopper {
	bots := make([]*shopper, n)
	for i := range bots {
		bots[i] = &shopper{b: b, bot: true, from: botAddress(i % addresses)}
	}
	ctx, cancel := context.WithDeadline(b.ctx, b.gun.Add(-comeBefore))
	defer cancel()
	err := b.arrive(ctx, bots)
	if err != nil && ctx.Err() == nil {
		b.fail(fmt.Errorf("bring in %d bots: %w", n, err))
	}
	if err != nil {
		bots = connected(bots)
	}
	b.out += n - len(bots)
	b.bots = append(b.bots, bots...)
	return bots
}

// comeBefore is how long before the opening bots have come or stay out: those who are in have passes to ask for.
const comeBefore = time.Second

func connected(all []*shopper) (in []*shopper) {
	for _, s := range all {
		if s.conn != nil && s.conn.Err() == nil {
			in = append(in, s)
		}
	}
	return in
}

// atOnce lets all bots press at the opening, a moment early; each says with what it presses, "" for nothing.
func (b *battle) atOnce(bots []*shopper, press func(s *shopper, i int)) {
	for i, s := range bots {
		b.running.Go(func() { press(s, i) })
	}
}

// early is how long before the opening a bot sends its first buy.
const early = 20 * time.Millisecond

// press buys with a pass until something definite is answered.
func (s *shopper) press(pass, key string) (err error) {
	b := s.b
	app.Sleep(b.ctx, time.Until(b.gun)-early)
	for range attempts {
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		var r app.Receipt
		r, err = s.conn.BuyWith(pass, b.sale.ID, 1, key)
		b.got(r, err)
		switch e := app.AsError(err); {
		case err == nil, e.Code == app.SoldOut, e.Code == app.LimitReached:
			return err
		default:
			app.Sleep(b.ctx, max(5*time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		}
	}
	return err
}

// replay: one account buys once as everybody does, and sends the request again, with the same key and with others.
// Fifty accounts send what honest shoppers were seen to send, before these do.
func replay(b *battle) {
	first := b.recruit(1, 1)
	stolen := b.recruit(thieves, 1)
	b.atOnce(first, func(s *shopper, _ int) {
		pass := s.pass()
		_ = s.press(pass, "replay-first")
		for i := 0; b.ctx.Err() == nil && i < 200; i++ {
			key := "replay-first"
			if i%2 == 1 {
				key = "replay-" + strconv.Itoa(i)
			}
			b.got(s.conn.BuyWith(pass, b.sale.ID, 1, key))
			s.conn.Pause(0)
		}
	})
	b.atOnce(stolen, func(s *shopper, _ int) {
		select {
		case r := <-b.passes:
			_ = s.press(r.pass, r.key)
		case <-b.ctx.Done():
		}
	})
}

// hammer: one account presses as fast as frames and requests go, on sockets that are opened again when the server
// closes them. It has done what the page does for one pass.
func hammer(b *battle) {
	one := b.recruit(1, 1)
	if len(one) == 0 {
		return
	}
	pass := one[0].pass()
	for i := range hammers {
		s := &shopper{b: b, bot: true, from: botAddress(0), token: one[0].token}
		b.bots = append(b.bots, s)
		b.running.Go(func() { s.hammer(pass, i) })
		b.running.Go(func() { s.hammerHTTP(pass, i) })
	}
}

func (s *shopper) hammer(pass string, number int) {
	b := s.b
	app.Sleep(b.ctx, time.Until(b.gun)-early)
	for n := 0; b.ctx.Err() == nil; n++ {
		if s.conn == nil || s.conn.Err() != nil {
			if s.connect(b.ctx) != nil {
				return
			}
		}
		b.got(s.conn.BuyWith(pass, b.sale.ID, 1, fmt.Sprintf("flood-%d-%d", number, n)))
	}
}

func (s *shopper) hammerHTTP(pass string, number int) {
	b := s.b
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: s.from}).DialContext}}
	defer client.CloseIdleConnections()
	app.Sleep(b.ctx, time.Until(b.gun)-early)
	for n := 0; b.ctx.Err() == nil; n++ {
		b.got(buyOverHTTP(b.ctx, client, b, s.token, pass, fmt.Sprintf("http-flood-%d-%d", number, n)))
	}
}

func buyOverHTTP(
	ctx context.Context, client *http.Client, b *battle, token, pass, key string,
) (r app.Receipt, err error) {
	body, err := json.Marshal(map[string]any{"qty": 1, "key": key, "pass": pass})
	if err != nil {
		return r, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+b.Address+"/api/v1/sales/"+b.sale.ID.String()+"/buy", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return r, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return r, json.NewDecoder(response.Body).Decode(&r)
	}
	var failure struct{ Error *app.Error }
	if err := json.NewDecoder(response.Body).Decode(&failure); err != nil || failure.Error == nil {
		return r, fmt.Errorf("answered %s", response.Status)
	}
	return r, failure.Error
}

// prepared: all accounts have their requests ready, with passes that they got for another sale, and send them in the
// instant of the opening.
func prepared(b *battle) {
	b.atOnce(b.recruit(b.Accounts, fiftyAddresses), func(s *shopper, i int) {
		pass := ""
		if i < thieves { // of some it is a real one, for something else
			pass, _ = s.conn.GetPass(b.before.ID)
		}
		_ = s.press(pass, "prepared-1")
	})
}

// farm: programs that do all that the page does, as fast as they can.
func farm(addresses int) func(b *battle) {
	return func(b *battle) {
		b.atOnce(b.recruit(b.Accounts, addresses), func(s *shopper, _ int) {
			_ = s.press(s.pass(), "farm-press")
		})
	}
}

// solver: a farm whose work is done on one core, one task after the other. Whoever has a pass presses with the others.
func solver(b *battle) {
	bots := b.recruit(b.Accounts, fiftyAddresses)
	b.running.Go(func() {
		for _, s := range bots {
			if b.ctx.Err() != nil {
				return
			}
			pass := s.pass()
			b.running.Go(func() { _ = s.press(pass, "solver-press") })
		}
	})
}

// paidReader: a farm whose pictures somebody reads, so many a second for all of them.
func paidReader(b *battle) {
	b.reader = rate.NewLimiter(rate.Limit(b.Pictures), 1)
	farm(fiftyAddresses)(b)
}

// hoarder: accounts that take units off the sale, let them expire, and take them again as often as they may.
func hoarder(b *battle) {
	b.atOnce(b.recruit(hoarders, fiftyAddresses), func(s *shopper, _ int) {
		for n := 0; b.ctx.Err() == nil; n++ {
			err := s.press(s.pass(), fmt.Sprintf("hoarder-%d", n))
			if wsclient.CodeOf(err) != "" {
				app.Sleep(b.ctx, 100*time.Millisecond)
			}
		}
	})
}
