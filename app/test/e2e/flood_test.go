package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// flood is one machine behind a shared address. It buys with a few accounts and sends requests with a forged token. It
// sends the next request as soon as a response arrives, until ctx ends.
type flood struct {
	t     testing.TB
	route route
	from  string
	sale  shop.ID

	// sent counts buy attempts, limited those that were rejected as rate_limited. Listings and handshakes are not
	// counted, because their limits per address admit thousands at once.
	sent, limited atomic.Int64
	accepted      atomic.Int64 // accepted buys
}

func (f *flood) run(ctx context.Context, users []string) {
	var all sync.WaitGroup
	for _, user := range users {
		all.Go(func() { f.buyOverHTTP(ctx, user) })
		all.Go(func() { f.buyOverSocket(ctx, user) })
	}
	for _, path := range []string{"/api/v1/slots", "/api/v1/sales?phase=open", "/api/v1/orders"} {
		all.Go(func() { f.repeatRequest(ctx, http.MethodGet, path, "forged") })
	}
	all.Wait()
}

// visitor returns a client that keeps its connections open and does not check HTTP responses.
func (f *flood) visitor() *visitor {
	base := &http.Transport{TLSClientConfig: f.route.tls.Clone(), DialContext: dialFrom(f.from).DialContext}
	client := &http.Client{Timeout: 10 * time.Second, Transport: base}
	return &visitor{route: f.route, t: f.t, from: f.from, client: client}
}

// repeatRequest repeats the same request over a connection that stays open, until ctx ends.
func (f *flood) repeatRequest(ctx context.Context, method, path, token string) {
	v := f.visitor()
	defer v.client.CloseIdleConnections()
	for ctx.Err() == nil {
		_, _ = v.request(ctx, method, path, token) // an error: ctx has ended, or nginx has closed the connection
	}
}

func (f *flood) count(code shop.Code) {
	f.sent.Add(1)
	if code == shop.RateLimited {
		f.limited.Add(1)
	}
}

// buyOverHTTP buys over HTTP until ctx ends.
func (f *flood) buyOverHTTP(ctx context.Context, token string) {
	v := f.visitor()
	defer v.client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		body := fmt.Sprintf(`{"qty":1,"key":"flood-http-%d"}`, n)
		a, err := v.requestWithBody(ctx, http.MethodPost, "/api/v1/sales/"+f.sale.String()+"/buy", token, body)
		if err != nil {
			continue
		}
		f.count(a.failed.Code)
		if a.code == http.StatusOK {
			f.accepted.Add(1)
		}
	}
}

// buyOverSocket buys over sockets and reopens closed ones, until ctx ends.
func (f *flood) buyOverSocket(ctx context.Context, token string) {
	v := f.visitor()
	for n := 0; ctx.Err() == nil; {
		conn, _, err := v.socket(ctx, v.page())
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, conn.Close)
		_, _ = conn.Hello(token, "")
		for conn.Err() == nil { // also after a rejected buy
			n++
			_, err := conn.Buy(f.sale, 1, fmt.Sprintf("flood-socket-%d", n))
			if err == nil {
				f.accepted.Add(1)
			}
			f.count(shop.AsError(err).Code)
		}
		stop()
		conn.Close()
	}
}

// 200 people behind one address enter and buy within ten seconds at the opening of a sale. nginx and the limits are as
// shipped. Meanwhile a machine behind the same address floods the shop with five accounts, forged tokens, sockets and
// listings. Most of its buy attempts are rejected as rate_limited, and its accounts buy only as much as their limit
// allows. Not t.Parallel: the flood needs an otherwise idle machine.
func TestBuyersBuyDuringFloodFromTheirAddress(t *testing.T) {
	const people, accounts, minBuys = 200, 5, 1000
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", nginxAddress)
	sale := s.open(people+100, 1)
	n := startShipped(t, s.settings...)
	proxied := behindNginx(t, n)
	f := &flood{t: t, route: proxied, from: "127.0.0.20", sale: sale.ID}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	users := make([]string, accounts)
	for i := range users {
		users[i] = token(t, kit.NewID())
	}
	go func() { defer close(ended); f.run(ctx, users) }()
	kit.Eventually(t, waitTimeout, func() (bool, string) { return f.limited.Load() > 100, "the flood is not limited yet" })
	sent, limited := f.sent.Load(), f.limited.Load() // the initial burst is over

	proxied.crowd(t, people, f.from, sale.ID, 10*time.Second)
	// The limits admit a number per second, so the share of rejections grows with the rate and the time of the flood.
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		n, rejected := f.sent.Load()-sent, f.limited.Load()-limited
		return n >= minBuys && 2*rejected > n, fmt.Sprintf("the flood sent %d buys, %d were rejected as rate_limited", n, rejected)
	})
	stop()
	<-ended
	if accepted := f.accepted.Load(); accepted > accounts {
		t.Errorf("the flood bought %d units with %d accounts, want at most one each", accepted, accounts)
	}
	s.awaitDrained(sale)
	s.audit(sale)
}

// Buys of a user over sockets and HTTP share one limit. Requests for listings and orders have a limit.
// TestShopPaceIsDividedAmongNodes in app/limits checks that several nodes share the rate of the whole shop.
func TestStrictLimitsApplyToSocketsAndHTTP(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_LIMITS=strict", "STAMPEDE_WINDOW=1m")
	sale := s.open(100, 1)
	n := startShipped(t, s.settings...)
	v := (route{addr: n.addr}).newVisitor(t, "127.0.0.30")
	var user string
	var result httpResult
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		user = token(t, kit.NewID())
		conn := v.openWithHello(t, user)
		began := time.Now()
		_, err := conn.Buy(sale.ID, 1, "over-the-socket")
		s.must(err)
		result, err = v.requestWithBody(kit.Context(t), http.MethodPost, "/api/v1/sales/"+sale.ID.String()+"/buy", user,
			`{"qty":1,"key":"over-http-1"}`)
		s.must(err)
		return time.Since(began) < time.Second, "two buys in a row take more than a second"
	})
	if result.failed.Code != shop.RateLimited || result.failed.RetryMS < 1 || result.failed.RetryMS > 1000 {
		t.Errorf("a buy over HTTP directly after one over the socket got %d %s, want rate_limited", result.code, result.text)
	}
	for _, path := range []string{"/api/v1/slots", "/api/v1/orders"} {
		rejected := 0
		for range 20 {
			a, err := v.request(kit.Context(t), http.MethodGet, path, user)
			s.must(err)
			if a.failed.Code == shop.RateLimited {
				rejected++
			}
		}
		if rejected == 0 || rejected == 20 {
			t.Errorf("%s: %d of 20 requests are rate_limited, want about 15: 5 are admitted in a window", path, rejected)
		}
	}
}
