package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/wsclient"
)

const (
	replayAccounts = 50 // accounts that send recorded requests of honest shoppers
	hoarders       = 50 // accounts of Hoarder
	floodConns     = 10 // sockets of the flooding account; it has as many HTTP connections
	attempts       = 20 // attempts of a refused bot
	addresses      = 50 // source addresses of bots that do not share one address

	// connectMargin is the time before the opening at which connectBots stops. The bots still need time for their
	// passes.
	connectMargin = time.Second
	// buyLead is the time before the opening at which a bot sends its first buy.
	buyLead = 20 * time.Millisecond
)

// connectBots connects n bots from the given number of addresses. It returns the bots that the server accepts in time.
func (c *contest) connectBots(n, addresses int) (accepted []*shopper) {
	bots := make([]*shopper, n)
	for i := range bots {
		bots[i] = c.newShopper(botAddress(i % addresses))
		bots[i].bot = true
	}
	c.bots = append(c.bots, bots...)
	ctx, cancel := context.WithDeadline(c.ctx, c.opensAt.Add(-connectMargin))
	defer cancel()
	if err := c.connectAll(ctx, bots); err != nil && ctx.Err() == nil {
		c.fail(fmt.Errorf("connect %d bots: %w", n, err))
	}
	for _, s := range bots {
		if s.conn != nil && s.conn.Err() == nil {
			accepted = append(accepted, s)
		}
	}
	c.result.Blocked += n - len(accepted)
	return accepted
}

// runScripts runs the script on one goroutine per bot.
func (c *contest) runScripts(bots []*shopper, script func(s *shopper, i int)) {
	for i, s := range bots {
		c.running.Go(func() { script(s, i) })
	}
}

// buyUntilFinal waits for the opening and buys until the response is final.
func (s *shopper) buyUntilFinal(pass, key string) (err error) {
	b := s.b
	shop.Sleep(b.ctx, time.Until(b.opensAt)-buyLead)
	for range attempts {
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		var r order.Receipt
		r, err = s.conn.BuyWithPass(pass, b.Sale.ID, 1, key)
		b.countReply(r, err)
		switch e := shop.AsError(err); {
		case err == nil, e.Code == shop.SoldOut, e.Code == shop.LimitReached:
			return err
		default:
			shop.Sleep(b.ctx, max(5*time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		}
	}
	return err
}

// Replay buys once with one account and repeats the accepted request, with the same key and with other keys. Fifty
// other accounts send recorded requests of honest shoppers.
func Replay(b *contest) {
	first := b.connectBots(1, 1)
	replayBots := b.connectBots(replayAccounts, 1)
	b.runScripts(first, func(s *shopper, _ int) {
		pass := s.pass()
		_ = s.buyUntilFinal(pass, "replay-first")
		for i := 0; b.ctx.Err() == nil && i < 200; i++ {
			key := "replay-first"
			if i%2 == 1 {
				key = "replay-" + strconv.Itoa(i)
			}
			b.countReply(s.conn.BuyWithPass(pass, b.Sale.ID, 1, key))
			s.conn.Pause(0)
		}
	})
	b.runScripts(replayBots, func(s *shopper, _ int) {
		select {
		case r := <-b.recordings:
			_ = s.buyUntilFinal(r.pass, r.key)
		case <-b.ctx.Done():
		}
	})
}

// Flood buys with one account and one pass as fast as possible, on ten sockets and ten HTTP connections. Sockets that
// the server closes are opened again.
func Flood(b *contest) {
	one := b.connectBots(1, 1)
	if len(one) == 0 {
		return
	}
	pass := one[0].pass()
	for i := range floodConns {
		s := &shopper{b: b, bot: true, from: one[0].from, token: one[0].token}
		b.bots = append(b.bots, s)
		b.running.Go(func() { s.floodSocket(pass, i) })
		b.running.Go(func() { s.floodHTTP(pass, i) })
	}
}

func (s *shopper) floodSocket(pass string, number int) {
	b := s.b
	for n := 0; b.ctx.Err() == nil; n++ {
		if s.conn == nil || s.conn.Err() != nil {
			if s.connect(b.ctx) != nil {
				return
			}
		}
		shop.Sleep(b.ctx, time.Until(b.opensAt)-buyLead)
		b.countReply(s.conn.BuyWithPass(pass, b.Sale.ID, 1, fmt.Sprintf("flood-%d-%d", number, n)))
	}
}

func (s *shopper) floodHTTP(pass string, number int) {
	b := s.b
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: s.from}).DialContext}}
	defer client.CloseIdleConnections()
	shop.Sleep(b.ctx, time.Until(b.opensAt)-buyLead)
	for n := 0; b.ctx.Err() == nil; n++ {
		b.countReply(s.buyOverHTTP(client, pass, fmt.Sprintf("http-flood-%d-%d", number, n)))
	}
}

func (s *shopper) buyOverHTTP(client *http.Client, pass, key string) (r order.Receipt, err error) {
	b := s.b
	body, err := json.Marshal(map[string]any{"qty": 1, "key": key, "pass": pass})
	if err != nil {
		return r, err
	}
	request, err := http.NewRequestWithContext(b.ctx, http.MethodPost,
		"http://"+b.Address+"/api/v1/sales/"+b.Sale.ID.String()+"/buy", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return r, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return r, json.NewDecoder(response.Body).Decode(&r)
	}
	var failure struct{ Error *shop.Error }
	if err := json.NewDecoder(response.Body).Decode(&failure); err != nil || failure.Error == nil {
		return r, fmt.Errorf("status %s", response.Status)
	}
	return r, failure.Error
}

// Prepared sends requests of all accounts at the opening. Fifty of them carry passes of the other sale.
func Prepared(b *contest) {
	b.runScripts(b.connectBots(b.Accounts, addresses), func(s *shopper, i int) {
		pass := ""
		if i < replayAccounts {
			pass, _ = s.conn.GetPass(b.Other.ID)
		}
		_ = s.buyUntilFinal(pass, "prepared-1")
	})
}

// OneAddress runs programs that behave like the page, with all accounts from one address.
func OneAddress(b *contest) { b.runFarm(1) }

// FiftyAddresses is OneAddress with fifty addresses.
func FiftyAddresses(b *contest) { b.runFarm(addresses) }

func (c *contest) runFarm(addresses int) {
	c.runScripts(c.connectBots(c.Accounts, addresses), func(s *shopper, _ int) { _ = s.buyUntilFinal(s.pass(), "farm-press") })
}

// Solver is FiftyAddresses with all proofs of work computed on one core, one after the other.
func Solver(b *contest) {
	bots := b.connectBots(b.Accounts, addresses)
	b.running.Go(func() {
		for _, s := range bots {
			if b.ctx.Err() != nil {
				return
			}
			pass := s.pass()
			b.running.Go(func() { _ = s.buyUntilFinal(pass, "solver-press") })
		}
	})
}

// Hoarder reserves units with fifty accounts, lets them expire and reserves again as often as the limits allow.
func Hoarder(b *contest) {
	b.runScripts(b.connectBots(hoarders, addresses), func(s *shopper, _ int) {
		for n := 0; b.ctx.Err() == nil; n++ {
			err := s.buyUntilFinal(s.pass(), fmt.Sprintf("hoarder-%d", n))
			if wsclient.CodeOf(err) != "" {
				shop.Sleep(b.ctx, 100*time.Millisecond)
			}
		}
	})
}
