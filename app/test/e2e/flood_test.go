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
	"stampede/app/wsclient"
)

// flood is one machine behind an address that many share: it has a few accounts and does with them, with forged tokens
// and with none whatever it can, as fast as it is answered, until ctx ends.
type flood struct {
	way  way
	from string
	sale shop.ID

	sent, held atomic.Int64 // requests and ops, and those that were refused as too many
	won        atomic.Int64 // buys that were accepted
}

func (f *flood) run(ctx context.Context, t *testing.T, accounts int) {
	t.Helper()
	var all sync.WaitGroup
	for range accounts {
		user := token(t, kit.NewID())
		all.Go(func() { f.press(ctx, user) })
		all.Go(func() { f.pressSocket(ctx, user) })
	}
	for _, path := range []string{"/api/v1/slots", "/api/v1/sales?phase=open", "/api/v1/orders"} {
		all.Go(func() { f.ask(ctx, http.MethodGet, path, "forged") })
	}
	all.Wait()
}

// visitor keeps its connections open, and does not care what it is answered.
func (f *flood) visitor() *visitor {
	base := &http.Transport{TLSClientConfig: f.way.tls.Clone(), DialContext: dialFrom(f.from).DialContext}
	return &visitor{way: f.way, from: f.from, client: &http.Client{Timeout: 10 * time.Second, Transport: base}}
}

// ask sends the same request again and again, with a connection that stays open.
func (f *flood) ask(ctx context.Context, method, path, token string) {
	v := f.visitor()
	defer v.client.CloseIdleConnections()
	for ctx.Err() == nil {
		a, err := v.ask(ctx, method, path, token)
		if err != nil {
			continue // the end of ctx, or nginx has closed the connection
		}
		f.count(a.failed.Code)
	}
}

func (f *flood) count(code shop.Code) {
	f.sent.Add(1)
	if code == shop.RateLimited {
		f.held.Add(1)
	}
}

// press buys over HTTP.
func (f *flood) press(ctx context.Context, token string) {
	v := f.visitor()
	defer v.client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		press := fmt.Sprintf(`{"qty":1,"key":"flood-http-%d"}`, n)
		a, err := v.say(ctx, http.MethodPost, "/api/v1/sales/"+f.sale.String()+"/buy", token, press)
		if err != nil {
			continue
		}
		f.count(a.failed.Code)
		if a.code == http.StatusOK {
			f.won.Add(1)
		}
	}
}

// pressSocket buys over sockets; one that is closed is opened anew.
func (f *flood) pressSocket(ctx context.Context, token string) {
	v := f.visitor()
	for n := 0; ctx.Err() == nil; {
		conn, a, err := v.socket(ctx, v.page())
		f.count(a.failed.Code)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, conn.Close)
		_, err = conn.Hello(token, "")
		for err == nil || wsclient.CloseCode(conn.Err()) == 0 && conn.Err() == nil {
			n++
			_, err = conn.Buy(f.sale, 1, fmt.Sprintf("flood-socket-%d", n))
			if err == nil {
				f.won.Add(1)
			}
			f.count(shop.AsError(err).Code)
		}
		stop()
		conn.Close()
	}
}

// 200 people behind one address, in the instant in which a sale opens, are all in and have bought within ten seconds,
// through the nginx that ships and with the limits that ship, while a machine behind the same address floods the shop
// with five accounts, forged tokens, sockets and listings. The flood is held: of what it sends, most is refused as too
// many, and its accounts get what their limit allows and nothing more. Not t.Parallel: it is a flood only on a machine
// that does nothing else.
func TestAnOfficeGetsInDuringAFlood(t *testing.T) {
	const people, accounts, enough = 200, 5, 1000
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", nginxAddress)
	sale := s.open(people+100, 1)
	n := startShipped(t, s.settings...)
	proxied := behindNginx(t, n)
	f := &flood{way: proxied, from: "127.0.0.20", sale: sale.ID}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); f.run(ctx, t, accounts) }()
	kit.Eventually(t, patience, func() (bool, string) { return f.held.Load() > 100, "the flood is not held yet" })
	sent, held := f.sent.Load(), f.held.Load() // what a first burst may, it has had

	proxied.crowd(t, people, f.from, sale.ID, 10*time.Second)
	kit.Eventually(t, patience, func() (bool, string) {
		n := f.sent.Load() - sent
		return n >= enough, fmt.Sprintf("the flood has sent %d, too few to judge by", n)
	})
	stop()
	<-over
	sent, held = f.sent.Load()-sent, f.held.Load()-held
	won := f.won.Load()
	t.Logf("the flood sent %d, %d were refused as too many, %d buys were accepted", sent, held, won)
	if won > accounts || 2*held < sent {
		t.Errorf("the flood sent %d, only %d were refused as too many; %d of %d accounts bought", sent, held, won, accounts)
	}
	s.drained(sale)
	s.audit(sale)
}

// Buys of a user count over sockets and HTTP together, and requests for listings and orders have a limit. That several
// nodes share the rate of the whole shop is TestBuysOfSeveralNodes in app/limits.
func TestStrictLimitsHoldOverSocketsAndHTTP(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_LIMITS=strict", "STAMPEDE_WINDOW=1m")
	sale := s.open(100, 1)
	n := startShipped(t, s.settings...)
	v := (way{addr: n.addr}).visit(t, "127.0.0.30")
	var user string
	var a answered
	kit.Eventually(t, patience, func() (bool, string) {
		user = token(t, kit.NewID())
		conn := v.greeted(t, user)
		began := time.Now()
		_, err := conn.Buy(sale.ID, 1, "over-the-socket")
		s.must(err)
		a, err = v.say(kit.Context(t), http.MethodPost, "/api/v1/sales/"+sale.ID.String()+"/buy", user,
			`{"qty":1,"key":"over-http-1"}`)
		s.must(err)
		return time.Since(began) < time.Second, "two buys in a row take more than a second"
	})
	if a.failed.Code != shop.RateLimited || a.failed.RetryMS < 1 || a.failed.RetryMS > 1000 {
		t.Errorf("a buy over HTTP right after one over the socket: %d %s", a.code, a.text)
	}
	for _, path := range []string{"/api/v1/slots", "/api/v1/orders"} {
		refused := 0
		for range 20 {
			a, err := v.ask(kit.Context(t), http.MethodGet, path, user)
			s.must(err)
			if a.failed.Code == shop.RateLimited {
				refused++
			}
		}
		if refused == 0 || refused == 20 {
			t.Errorf("%s: %d of 20 requests are rate_limited, want 15: 5 are allowed in a window", path, refused)
		}
	}
}
