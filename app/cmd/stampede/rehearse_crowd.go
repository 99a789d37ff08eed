package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

const (
	maxConnecting = 64               // concurrent connection attempts
	cancelShare   = 0.2              // probability that a shopper cancels an order and buys again
	settleTimeout = 30 * time.Second // for the last order events and the cancellations
	buyPause      = time.Second      // pause of a shopper between two buys
)

// rehearseCrowd contains the simulated shoppers and their measurements.
type rehearseCrowd struct {
	sale   shop.ID
	server string
	tls    *tls.Config

	shoppers []*rehearseShopper

	mu                                   sync.Mutex
	connectTimes, replyTimes, orderTimes []time.Duration
	bought                               int               // buys; repeats under the same key count once
	refused                              map[shop.Code]int // error replies by code
	lostConns                            map[string]int    // lost connections, by reason
	// the latest received state; "" before the first event
	orders map[shop.ID]shop.OrderState
}

// rehearseShopper is a guest with one socket.
type rehearseShopper struct {
	crowd *rehearseCrowd
	conn  *wsclient.Conn
	pass  bool // the sale requires a pass

	mu     sync.Mutex
	bought map[string]time.Time // time of the buy, by key
	orders []shop.ID
}

// join connects all shoppers.
func (c *rehearseCrowd) join(ctx context.Context, tokens []string, within time.Duration) error {
	c.refused, c.lostConns = make(map[shop.Code]int), make(map[string]int)
	ctx, cancel := context.WithTimeoutCause(ctx, within, errors.New("the shoppers were not connected before the opening"))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	connecting := make(chan struct{}, maxConnecting)
	var all sync.WaitGroup
	for _, token := range tokens {
		s := &rehearseShopper{crowd: c, bought: make(map[string]time.Time)}
		c.shoppers = append(c.shoppers, s)
		connecting <- struct{}{}
		all.Go(func() {
			defer func() { <-connecting }()
			if err := s.join(ctx, token); err != nil {
				stop(fmt.Errorf("connect a shopper: %w", err))
			}
		})
		if ctx.Err() != nil {
			break
		}
	}
	all.Wait()
	return context.Cause(ctx)
}

func (s *rehearseShopper) join(ctx context.Context, token string) error {
	c := s.crowd
	for {
		began := time.Now()
		conn, err := (&wsclient.Dialer{OnFrame: s.onFrame, TLS: c.tls, Silence: time.Minute}).Dial(ctx, c.server)
		if err == nil {
			s.conn = conn
			if _, err = conn.Hello(token, ""); err == nil {
				c.update(func() { c.connectTimes = append(c.connectTimes, time.Since(began)) })
				break
			}
			conn.Close()
		}
		if !shop.Sleep(ctx, 200*time.Millisecond+rand.N(time.Second)) {
			return err
		}
	}
	return s.conn.RetryOnCodes(func() error { // a node receives a new sale within a second
		view, err := s.conn.Watch(0, c.sale)
		if err == nil {
			s.pass = view.Sales[0].Pass
		}
		return err
	}, shop.NotFound, shop.Busy, shop.RateLimited)
}

// update calls the function `change` under the lock.
func (c *rehearseCrowd) update(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// onFrame handles order events. It runs on the goroutine that reads from the socket.
func (s *rehearseShopper) onFrame(f *wsclient.Frame) {
	e, is := f.Event.(*wsclient.OrderEvent)
	if !is {
		return
	}
	s.mu.Lock()
	boughtAt, firstEvent := s.bought[e.Key]
	delete(s.bought, e.Key)
	s.mu.Unlock()
	s.crowd.update(func() {
		s.crowd.orders[e.Order.ID] = e.Order.State
		if firstEvent {
			s.crowd.orderTimes = append(s.crowd.orderTimes, time.Since(boughtAt))
		}
	})
}

// buy runs all shoppers until the sale closes, which is after the duration `open`. They start within the duration
// `rush`.
func (c *rehearseCrowd) buy(ctx context.Context, open, rush time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, open)
	defer cancel()
	var all sync.WaitGroup
	for i, s := range c.shoppers {
		all.Go(func() { s.buyUntilClosed(ctx, i, time.Duration(rand.Float64()*float64(rush))) })
	}
	all.Wait()
}

// buyUntilClosed buys until the sale closes or the limit is reached. It cancels some orders to return their units.
func (s *rehearseShopper) buyUntilClosed(ctx context.Context, number int, firstPause time.Duration) {
	for n, pause := 0, firstPause; shop.Sleep(ctx, pause); n++ {
		pause = buyPause
		order, err := s.buy(ctx, fmt.Sprintf("rehearse-%d-%d", number, n))
		switch code := wsclient.CodeOf(err); {
		case err == nil && rand.Float64() < cancelShare && shop.Sleep(ctx, rand.N(3*time.Second)):
			_, _ = s.conn.Cancel(order) // settle cancels the remaining orders
		case err == nil, code == shop.SoldOut, code == shop.NotOpen:
		default:
			return
		}
	}
}

// buy sends a buy and repeats it under the same key while its outcome is unknown (I6).
func (s *rehearseShopper) buy(ctx context.Context, key string) (shop.ID, error) {
	c := s.crowd
	pass := ""
	if s.pass {
		err := s.conn.RetryOnCodes(func() (err error) {
			pass, err = s.conn.GetPass(c.sale)
			return err
		}, shop.Busy, shop.RateLimited, shop.NotOpen)
		if err != nil {
			c.countReply(err, 0)
			return 0, err
		}
	}
	s.mu.Lock()
	s.bought[key] = time.Now()
	s.mu.Unlock()
	c.update(func() { c.bought++ })
	for {
		start := time.Now()
		receipt, err := s.conn.BuyWithPass(pass, c.sale, 1, key)
		c.countReply(err, time.Since(start))
		switch code := wsclient.CodeOf(err); {
		case err == nil:
			s.orders = append(s.orders, receipt.Order)
			c.update(func() { // the order event may arrive before the reply
				if _, known := c.orders[receipt.Order]; !known {
					c.orders[receipt.Order] = ""
				}
			})
			return receipt.Order, nil
		case code != shop.Busy && code != shop.RateLimited:
			return 0, err
		case !shop.Sleep(ctx, time.Duration(max(100, shop.AsError(err).RetryMS))*time.Millisecond):
			return 0, ctx.Err()
		}
	}
}

// countReply counts the reply to a buy. It ignores errors without a code: these are lost connections, which evaluate
// counts.
func (c *rehearseCrowd) countReply(err error, took time.Duration) {
	code := wsclient.CodeOf(err)
	if err != nil && code == "" {
		return
	}
	c.update(func() {
		c.replyTimes = append(c.replyTimes, took)
		if err != nil {
			c.refused[code]++
		}
	})
}

// settle waits for the event of each reservation, cancels all orders and returns the final state of the sale.
func (c *rehearseCrowd) settle(ctx context.Context) (shop.SaleView, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for c.count("") > 0 && shop.Sleep(ctx, 100*time.Millisecond) {
	}
	var all sync.WaitGroup
	for _, s := range c.shoppers {
		all.Go(func() {
			for _, order := range s.orders {
				_ = s.conn.RetryOnCodes(func() error {
					_, err := s.conn.Cancel(order)
					return err
				}, shop.Busy, shop.RateLimited)
			}
		})
	}
	all.Wait()
	for {
		i := slices.IndexFunc(c.shoppers, func(s *rehearseShopper) bool { return s.conn.Err() == nil })
		if i < 0 {
			return shop.SaleView{}, errors.New("all connections were lost")
		}
		view, err := c.shoppers[i].conn.Watch(0, c.sale)
		if err != nil {
			return shop.SaleView{}, fmt.Errorf("read the hidden sale: %w", err)
		}
		if sale := view.Sales[0]; sale.Held == 0 || !shop.Sleep(ctx, 200*time.Millisecond) {
			return sale, nil
		}
	}
}

// count returns the number of orders in the state; "": orders without an order event.
func (c *rehearseCrowd) count(state shop.OrderState) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.orders {
		if s == state {
			n++
		}
	}
	return n
}

// close closes all sockets.
func (c *rehearseCrowd) close() {
	for _, s := range c.shoppers {
		if s.conn != nil {
			s.conn.Close()
		}
	}
}

// rehearsal is the result of a rehearsal.
type rehearsal struct {
	Verdict  string            `json:"verdict"` // GO or NO-GO
	Shoppers int               `json:"shoppers"`
	Units    int64             `json:"units"`
	Buys     int               `json:"buys"`
	Reserved int               `json:"reserved"`
	Refused  map[shop.Code]int `json:"refused"`
	Checks   []rehearseCheck   `json:"checks"`
}

// rehearseCheck is one measured value with its limit.
type rehearseCheck struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Measured string `json:"measured"`
	Limit    string `json:"limit,omitempty"`
}

// evaluate compares the measurements with the limits.
func (c *rehearseCrowd) evaluate(cmd *rehearseCmd, sale shop.SaleView) *rehearsal {
	for _, s := range c.shoppers {
		if err := s.conn.Err(); err != nil {
			c.lostConns[err.Error()]++
		}
	}
	withoutEvent := c.count("")
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &rehearsal{
		Verdict: "GO", Shoppers: len(c.shoppers), Units: sale.Initial + sale.Added, Buys: c.bought,
		Reserved: len(c.orders), Refused: c.refused,
	}
	r.checkDuration("connect, 99 %", c.connectTimes, cmd.Limit.Connect)
	r.checkDuration("buy result, 99 %", c.replyTimes, cmd.Limit.Answer)
	r.checkDuration("order event, 99 %", c.orderTimes, cmd.Limit.Order)
	r.check("reservations without an order event", withoutEvent == 0, fmt.Sprint(withoutEvent), "0")
	r.check("bought", len(c.orders) > 0, fmt.Sprint(len(c.orders)), "at least 1")
	r.check("stock equation", sale.Initial+sale.Added == sale.Stock+sale.Held+sale.Sold && sale.Held+sale.Sold == 0,
		fmt.Sprintf("%d units = %d free + %d held + %d sold", r.Units, sale.Stock, sale.Held, sale.Sold), "all free")
	r.check("connections lost", len(c.lostConns) == 0, fmt.Sprint(len(c.lostConns)), "0")
	retried, unexpected := c.refused[shop.Busy]+c.refused[shop.RateLimited], 0
	expected := []shop.Code{shop.SoldOut, shop.LimitReached, shop.NotOpen, shop.Closed, shop.Busy, shop.RateLimited}
	for code, n := range c.refused {
		if !slices.Contains(expected, code) {
			unexpected += n
		}
	}
	r.check("unexpected refusals", unexpected == 0, fmt.Sprint(unexpected), "0")
	if share := float64(retried) / float64(max(1, len(c.replyTimes))); cmd.Limit.Retried > 0 {
		r.check("busy or rate_limited", share <= cmd.Limit.Retried, fmt.Sprintf("%.1f %%", 100*share),
			fmt.Sprintf("%.1f %%", 100*cmd.Limit.Retried))
	}
	return r
}

func (r *rehearsal) check(name string, ok bool, measured, limit string) {
	r.Checks = append(r.Checks, rehearseCheck{name, ok, measured, limit})
	if !ok {
		r.Verdict = "NO-GO"
	}
}

// checkDuration checks the 99th percentile of durations; a limit of 0 is not checked.
func (r *rehearsal) checkDuration(name string, all []time.Duration, limit time.Duration) {
	if limit == 0 || len(all) == 0 {
		return
	}
	slices.Sort(all)
	p99 := all[min(len(all)-1, len(all)*99/100)]
	r.check(name, p99 <= limit, fmt.Sprintf("%d ms", p99.Milliseconds()), fmt.Sprintf("%d ms", limit.Milliseconds()))
}

// String formats the result as text.
func (r *rehearsal) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d shoppers, %d units: %d buys, %d reserved\n", r.Shoppers, r.Units, r.Buys, r.Reserved)
	for code, n := range r.Refused {
		fmt.Fprintf(&b, "  refused %s: %d\n", code, n)
	}
	for _, c := range r.Checks {
		state := "ok"
		if !c.OK {
			state = "FAIL"
		}
		fmt.Fprintf(&b, "  %-4s  %-36s %s (limit %s)\n", state, c.Name, c.Measured, c.Limit)
	}
	return b.String() + r.Verdict
}
