//go:build abuse

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/account"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

const (
	abuser       = "127.9.0.1"
	abuseRate    = 400 // requests per second of the abuser, if the node can process them
	abuseFor     = 2 * time.Second
	abuseClients = 32
	abuseRounds  = 3
	maxRounds    = 9 // number of rounds if the first three exceed the limit, because other load may have slowed them
	shoppers     = 8
	// maxSlowdown limits the ratio of two p99 values. A p99 below minP99 counts as minP99.
	maxSlowdown = 3
	minP99      = 20 * time.Millisecond
)

// abuse is a kind of load from one address with abuseClients clients. open prepares a client and returns its request
// function.
type abuse struct {
	name     string
	nginx    bool // through nginx with 1024 connections, 250 per address; rejected connections last 1 s
	connects bool // whether each request, also of the comparison, opens a connection
	open     func(c *abuseClient) func(ctx context.Context) error
}

// abuseClient is one client of the abuser.
type abuseClient struct {
	*visitor
	*testShop
	ctx    context.Context // ends when the round ends
	sales  []shop.Sale
	access string // token of the abuser's account
	number int    // index of the client
	n      int    // number of its requests
}

var ops = []string{"login", "watch", "buy", "orders"}

// abuseKinds lists requests and ops that cost the shop more than the client.
var abuseKinds = []abuse{
	{name: "reset with invented tokens", open: func(c *abuseClient) func(context.Context) error {
		return c.bodyRequests(http.MethodPost, "/api/v1/auth/reset", func() string {
			return fmt.Sprintf(`{"token":"%043d","password":%q}`, c.unique(), accountPassword)
		})
	}},
	{name: "logins with invented accounts", open: func(c *abuseClient) func(context.Context) error {
		return c.bodyRequests(http.MethodPost, "/api/v1/auth/login", func() string {
			return fmt.Sprintf(`{"email":"%d@shop.example","password":%q}`, c.unique(), accountPassword)
		})
	}},
	{name: "logins with invented captchas", open: func(c *abuseClient) func(context.Context) error {
		return c.bodyRequests(http.MethodPost, "/api/v1/auth/login", func() string {
			return fmt.Sprintf(`{"email":"%d@shop.example","password":%q,"captcha":{"id":"%026d","answer":"123456"}}`,
				c.unique(), accountPassword, c.unique())
		})
	}},
	{name: "password changes", open: func(c *abuseClient) func(context.Context) error {
		return c.bodyRequests(http.MethodPost, "/api/v1/me/password", func() string {
			return fmt.Sprintf(`{"old":"not this one","new":%q}`, accountPassword)
		})
	}},
	{name: "captchas", open: func(c *abuseClient) func(context.Context) error { return c.getRequests("/api/v1/auth/captcha") }},
	{name: "guests", open: func(c *abuseClient) func(context.Context) error {
		return c.bodyRequests(http.MethodPost, "/api/v1/auth/guest", func() string { return "" })
	}},
	{name: "lists in capital letters", open: func(c *abuseClient) func(context.Context) error {
		return c.getRequests("/API/v1/sales")
	}},
	{name: "lists with different queries", open: func(c *abuseClient) func(context.Context) error {
		return c.getRequests("/api/v1/sales?page=%d")
	}},
	{name: "pictures", open: func(c *abuseClient) func(context.Context) error { return c.getRequests("/images/%d.png") }},
	{name: "orders over the socket", open: func(c *abuseClient) func(context.Context) error {
		return c.socketOps(func(conn *wsclient.Conn) error { return errOf(conn.Orders(0)) })
	}},
	{name: "long polls", open: longPolls},
	{name: "pay", open: func(c *abuseClient) func(context.Context) error { return c.paymentOps("page") }},
	{name: "pay by QR code", open: func(c *abuseClient) func(context.Context) error { return c.paymentOps("qr") }},
	{name: "watch sets", open: func(c *abuseClient) func(context.Context) error {
		return c.socketOps(func(conn *wsclient.Conn) error { return errOf(conn.Watch(0, c.subset()...)) })
	}},
	{name: "sockets with a watch set each", connects: true, open: func(c *abuseClient) func(context.Context) error {
		return func(context.Context) error {
			conn, err := c.connect("")
			if err == nil {
				_, err = conn.Watch(0, c.subset()...)
			}
			return err
		}
	}},
	{name: "connections", connects: true, open: func(c *abuseClient) func(context.Context) error { return c.rawConnections("") }},
	{name: "handshakes", connects: true, open: func(c *abuseClient) func(context.Context) error {
		return c.rawConnections(string(wsclient.Handshake(c.addr)))
	}},
	{
		name: "incomplete bodies through nginx", nginx: true, connects: true,
		open: func(c *abuseClient) func(context.Context) error {
			return c.rawConnections("POST /api/v1/auth/login HTTP/1.1\r\nHost: shop\r\nContent-Length: 9\r\n\r\n")
		},
	},
}

// unique returns a different number for each request of all clients.
func (c *abuseClient) unique() int {
	c.n++
	return c.n*abuseClients + c.number + 1
}

// subset returns a different set of at least two sales for each request of all clients, until all sets were used.
func (c *abuseClient) subset() (ids []shop.ID) {
	for bits := c.unique(); len(ids) < 2; bits++ {
		ids = ids[:0]
		for i := range c.sales {
			if bits>>i&1 == 1 {
				ids = append(ids, c.sales[i].ID)
			}
		}
	}
	return ids
}

// getRequests sends GET requests. The path may contain %d for a unique number.
func (c *abuseClient) getRequests(path string) func(context.Context) error {
	return func(ctx context.Context) error {
		path := path
		if strings.Contains(path, "%d") {
			path = fmt.Sprintf(path, c.unique())
		}
		return errOf(c.request(ctx, http.MethodGet, path, ""))
	}
}

func (c *abuseClient) bodyRequests(method, path string, body func() string) func(context.Context) error {
	return func(ctx context.Context) error { return errOf(c.requestWithBody(ctx, method, path, c.access, body())) }
}

// rawConnections opens connections and sends text. The connections stay open until the round ends.
func (c *abuseClient) rawConnections(text string) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		var conn net.Conn
		if c.tls == nil {
			conn, err = dialFrom(c.from).DialContext(ctx, "tcp", c.addr)
		} else {
			conn, err = (&tls.Dialer{NetDialer: dialFrom(c.from), Config: c.tls}).DialContext(ctx, "tcp", c.addr)
		}
		if err == nil {
			context.AfterFunc(c.ctx, func() { _ = conn.Close() })
			_, err = io.WriteString(conn, text)
		}
		return err
	}
}

// connect opens a socket with the token. The socket stays open until the round ends.
func (c *abuseClient) connect(token string) (*wsclient.Conn, error) {
	dialer := wsclient.Dialer{Origin: c.page(), TLS: c.tls.Clone(), From: dialFrom(c.from).LocalAddr}
	conn, err := dialer.Dial(c.ctx, c.page())
	if err != nil {
		return nil, err
	}
	context.AfterFunc(c.ctx, conn.Close)
	return conn, errOf(conn.Hello(token, ""))
}

// socketOps sends ops over a socket of a new user. It reopens a closed socket.
func (c *abuseClient) socketOps(op func(conn *wsclient.Conn) error) func(context.Context) error {
	access := token(c.testShop.t, kit.NewID())
	var conn *wsclient.Conn
	return func(context.Context) (err error) {
		if conn == nil || conn.Err() != nil {
			if conn, err = c.connect(access); err != nil {
				return err
			}
		}
		return op(conn)
	}
}

// paymentOps tries to buy, then requests the payment of the newest order.
func (c *abuseClient) paymentOps(via string) func(context.Context) error {
	var placed shop.ID
	return c.socketOps(func(conn *wsclient.Conn) error {
		if receipt, err := conn.Buy(c.sales[0].ID, 1, fmt.Sprintf("abuse-%d", c.unique())); err == nil {
			placed = receipt.Order
		}
		return errOf(conn.Pay(placed, via))
	})
}

// longPolls polls an order that stays unpaid, with at most four concurrent requests per client.
func longPolls(c *abuseClient) func(context.Context) error {
	access := token(c.testShop.t, kit.NewID())
	var placed shop.ID
	limit := make(chan struct{}, 4)
	return func(ctx context.Context) error {
		if placed == 0 {
			conn, err := c.connect(access)
			if err != nil {
				return err
			}
			receipt, err := conn.BuyUntilKnown(c.sales[0].ID, 1, "long-poll-1")
			if err != nil {
				return err
			}
			placed = receipt.Order
		}
		limit <- struct{}{}
		go func() {
			defer func() { <-limit }()
			_, _ = c.request(ctx, http.MethodGet, "/api/v1/orders/"+placed.String()+"?wait=30", access)
		}()
		return nil
	}
}

// While one address abuses the shop, shoppers at other addresses log in, watch, buy and read orders. For
// comparison, the same address sends the same number of GET /api/v1/time. For each op, the median over the rounds of
// the ratio of the two p99 values must be below three.
func TestShoppersAreServedDuringAbuse(t *testing.T) {
	for _, a := range abuseKinds {
		t.Run(a.name, func(t *testing.T) {
			data := t.TempDir()
			g := startGateway(t)
			s := newShop(t, append(g.settings, "STAMPEDE_GUEST_LOGIN=true", "STAMPEDE_DATA="+data, nginxAddress)...)
			var sales []shop.Sale
			for range 12 {
				sales = append(sales, s.open(1_000_000, 1_000_000))
			}
			n := startShipped(t, s.settings...)
			mails := filepath.Join(data, "mail")
			email := s.becomeAccount(n, mails, "")
			access := n.logIn(s.becomeAccount(n, mails, ""), accountPassword).Access
			w := route{addr: n.addr}
			if a.nginx {
				proxy := kit.StartNginxWorkers(t, 1, shippedSite, n.addr,
					"worker_connections 32768", "worker_connections 1024",
					"limit_conn stampede_connections 8000", "limit_conn stampede_connections 250")
				w = route{proxy.Addr, proxy.TLS}
			}
			client := abuseClient{testShop: s, sales: sales, access: access}
			cheap := abuse{connects: a.connects, open: func(c *abuseClient) func(context.Context) error {
				c.client.Transport.(*http.Transport).DisableKeepAlives = a.connects
				return c.getRequests("/api/v1/time")
			}}
			abuseP99, baselineP99 := make(map[string][]time.Duration), make(map[string][]time.Duration)
			ratios := make(map[string][]float64)
			var sent, cheapRequests int64
			slow := func(op string) bool { return median(ratios[op]) >= maxSlowdown }
			for round, rounds := 1, abuseRounds; round <= rounds; round++ {
				took, requests := w.measureShoppers(client, a, email, abuseRate)
				rate := int(float64(requests)/abuseFor.Seconds() + 0.5)
				baseline, cheapCount := w.measureShoppers(client, cheap, email, rate)
				sent, cheapRequests = sent+requests, cheapRequests+cheapCount
				for _, op := range ops {
					abuseP99[op] = append(abuseP99[op], took[op])
					baselineP99[op] = append(baselineP99[op], baseline[op])
					ratios[op] = append(ratios[op], float64(max(took[op], minP99))/float64(max(baseline[op], minP99)))
				}
				if round == abuseRounds && slices.ContainsFunc(ops, slow) {
					rounds = maxRounds
				}
			}
			line := fmt.Sprintf("%s, %d requests; compared with %d cheap requests:", a.name, sent, cheapRequests)
			for _, op := range ops {
				ratio := median(ratios[op])
				line += fmt.Sprintf(" %s %d/%d ms ×%.1f", op, median(abuseP99[op]).Milliseconds(),
					median(baselineP99[op]).Milliseconds(), ratio)
				if slow(op) {
					t.Errorf("%s is %.1f times slower than with the same number of cheap requests: p99 %v, %v", op, ratio, abuseP99[op],
						baselineP99[op])
				}
			}
			t.Log(line)
		})
	}
}

func median[T float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

// measureShoppers runs the shoppers while the abuser sends. It returns the p99 of their ops and the number of the
// abuser's requests.
func (r route) measureShoppers(
	client abuseClient, a abuse, email string, rate int,
) (p99 map[string]time.Duration, requests int64) {
	t := client.testShop.t
	t.Helper()
	people := make([]*wsclient.Conn, shoppers)
	for i := range people {
		people[i] = r.newVisitor(t, fmt.Sprintf("127.8.0.%d", i+1)).openWithHello(t, token(t, kit.NewID()))
		defer people[i].Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), abuseFor)
	defer cancel()
	var all sync.WaitGroup
	var next, sent atomic.Int64
	began, pause := time.Now(), time.Second/time.Duration(max(1, rate))
	for i := range abuseClients {
		c := client
		c.visitor, c.ctx, c.number = (&flood{t: t, route: r, from: abuser}).visitor(), ctx, i
		send := a.open(&c)
		all.Go(func() {
			defer c.client.CloseIdleConnections()
			for {
				due := began.Add(time.Duration(next.Add(1)) * pause)
				if sleep(ctx, time.Until(due).Milliseconds()) != nil {
					return
				}
				_ = send(ctx) // rejected, or the round has ended
				sent.Add(1)
			}
		})
	}
	took := durations{t: t, all: make(map[string][]time.Duration)}
	for _, conn := range people {
		all.Go(func() { took.shop(ctx, conn, client.sales[0].ID) })
	}
	all.Go(func() { // slower than the rate of password hashes, each from a new address
		for i := 0; ctx.Err() == nil; i++ {
			v := r.newVisitor(t, fmt.Sprintf("127.8.1.%d", i+1))
			took.measure("login", func() error { return client.testShop.login(v, email) })
			_ = sleep(ctx, 400)
		}
	})
	all.Wait()
	return took.p99(), sent.Load()
}

// login logs in as the page does: with a captcha if one is required, and again after a busy reply.
func (s *testShop) login(v *visitor, email string) error {
	ctx := s.t.Context()
	captcha := ""
	for {
		a, err := v.requestWithBody(ctx, http.MethodPost, "/api/v1/auth/login", "", fmt.Sprintf(
			`{"email":%q,"password":%q,"client":"app"%s}`, email, accountPassword, captcha))
		switch {
		case err != nil || a.code == http.StatusOK:
			return err
		case a.failed.Code == shop.CaptchaRequired:
			if a, err = v.request(ctx, http.MethodGet, "/api/v1/auth/captcha", ""); err != nil {
				return err
			}
			var picture account.CaptchaPicture
			if err := json.Unmarshal([]byte(a.text), &picture); err != nil {
				return err
			}
			if picture.ID != "" {
				solution, err := s.readPicture(picture.ID)
				if err != nil {
					return err
				}
				captcha = fmt.Sprintf(`,"captcha":{"id":%q,"answer":%q}`, picture.ID, solution)
				continue
			}
		}
		if a.failed.RetryMS == 0 {
			return fmt.Errorf("log in: %d %s", a.code, a.text)
		}
		if err := sleep(ctx, a.failed.RetryMS); err != nil {
			return err
		}
	}
}

// durations collects the durations of the shoppers' ops.
type durations struct {
	t   *testing.T
	mu  sync.Mutex
	all map[string][]time.Duration
}

func (d *durations) measure(op string, call func() error) {
	began := time.Now()
	err := call()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.t.Errorf("%s of a shopper: %v", op, err)
	}
	d.all[op] = append(d.all[op], time.Since(began))
}

func (d *durations) shop(ctx context.Context, conn *wsclient.Conn, sale shop.ID) {
	for ctx.Err() == nil {
		d.measure("watch", func() error {
			return conn.RetryOnCodes(func() error { return errOf(conn.Watch(0)) }, shop.Busy)
		})
		_ = sleep(ctx, 80) // a socket has an op limit
		d.measure("buy", func() error { return errOf(conn.BuyUntilKnown(sale, 1, "shopper-"+kit.NewID().String())) })
		_ = sleep(ctx, 80)
		d.measure("orders", func() error {
			return conn.RetryOnCodes(func() error { return errOf(conn.Orders(0)) }, shop.Busy)
		})
		_ = sleep(ctx, 80)
	}
}

func (d *durations) p99() map[string]time.Duration {
	result := make(map[string]time.Duration)
	for op, all := range d.all {
		slices.Sort(all)
		result[op] = all[len(all)*99/100]
	}
	return result
}
