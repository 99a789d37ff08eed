package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.uber.org/goleak"

	"stampede/app/admission"
	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/journal"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit/contract"
)

// fasthttp keeps one clock and its compressors' workers for ever, and the cleaner of each server ends up to ten seconds
// after it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp/stackless.funcWorker"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// fakeShop answers what a test tells it to.
type fakeShop struct {
	fail  error
	panic bool
	got   atomic.Pointer[order.BuyRequest]
	asked atomic.Pointer[admission.PassQuestion]
	state atomic.Value // shop.OrderState of order 7

	decided atomic.Pointer[payment.RefundDecision]
	actor   atomic.Pointer[journal.Actor] // who acted last

	searched atomic.Pointer[searched]

	notified func(form url.Values) error // nil: the shop takes no payments
}

// someOrder is complete, as every order is that the flows answer.
func someOrder(id, sale shop.ID, state shop.OrderState) shop.Order {
	return shop.Order{
		ID: id, Sale: sale, ProductName: "Lamp", Qty: 1, PriceFen: 4900, AmountFen: 4900, State: state, Ticket: 3,
		Rev:       1,
		CreatedAt: 1_700_000_000_000, User: 42,
	}
}

func someProduct() shop.Product {
	return shop.Product{ID: 2, Name: "Lamp", Category: "Light", Images: []shop.Image{{URL: "/a.svg", Alt: "A lamp"}}}
}

func someSale() shop.SaleView {
	return shop.SaleView{
		ID: 5, Slot: 1, Product: someProduct(), PriceFen: 4900, Initial: 10, Stock: 10, Limit: 1, Phase: shop.Open,
		Challenge: shop.ChallengeNone, OpensAt: 1_700_000_000_000, ClosesAt: 1_700_000_600_000,
	}
}

// Verify takes tokens "user-<id>"; user 1 is an operator, user 2 an admin.
func (s *fakeShop) Verify(token string) (shop.Identity, error) {
	id, err := shop.ParseID(strings.TrimPrefix(token, "user-"))
	if err != nil {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token is not valid")
	}
	if id <= 2 {
		return shop.Identity{User: id, Name: "Ada", Role: []shop.Role{shop.Operator, shop.Admin}[id-1]}, nil
	}
	return shop.Identity{User: id, Role: shop.Shopper}, nil
}

func (s *fakeShop) TakesPayments() bool { return s.notified != nil }

func (s *fakeShop) Notified(_ context.Context, form url.Values) error { return s.notified(form) }

func (s *fakeShop) Now() shop.Millis { return 1_700_000_000_000 }

func (s *fakeShop) Slots(_ context.Context, day *time.Time) ([]shop.Slot, error) {
	if s.panic {
		panic("secret detail")
	}
	if day != nil {
		return nil, s.fail
	}
	return []shop.Slot{{ID: 1, Phase: shop.Open, OpensAt: 1_700_000_000_000, ClosesAt: 1_700_000_600_000}}, s.fail
}

func (s *fakeShop) SalesOfSlot(context.Context, shop.ID) ([]shop.SaleView, error) { return nil, s.fail }

func (s *fakeShop) SalesByPhase(context.Context, shop.Phase, int, int) ([]shop.SaleView, bool, error) {
	return []shop.SaleView{someSale()}, true, s.fail
}

func (s *fakeShop) Sale(context.Context, shop.ID) (shop.SaleView, error) {
	sale := someSale()
	sale.Rules = "r"
	return sale, s.fail
}

func (s *fakeShop) Products(context.Context, shop.ID, int, int) ([]shop.Product, bool, error) {
	return nil, false, s.fail
}

func (s *fakeShop) Product(context.Context, shop.ID) (shop.Product, error) {
	return someProduct(), s.fail
}

func (s *fakeShop) Categories(context.Context) ([]shop.Category, error) { return nil, s.fail }

func (s *fakeShop) Buy(_ context.Context, _ shop.ID, req order.BuyRequest) (order.Receipt, error) {
	s.got.Store(&req)
	return order.Receipt{Order: 1234567890123456789, Ticket: 3, Place: 2, State: shop.Reserved}, s.fail
}

func (s *fakeShop) AskPass(_ context.Context, q admission.PassQuestion) (admission.PassAnswer, error) {
	s.asked.Store(&q)
	return admission.PassAnswer{Pass: "p-1", Until: 1_700_000_120_000}, s.fail
}

func (s *fakeShop) SolvePass(_ context.Context, q admission.PassQuestion) (admission.PassAnswer, error) {
	s.asked.Store(&q)
	return admission.PassAnswer{Pass: "p-2", Until: 1_700_000_240_000}, s.fail
}

func (s *fakeShop) Cancel(context.Context, shop.ID, shop.ID) (shop.OrderState, error) {
	return shop.Cancelled, s.fail
}

func (s *fakeShop) Pay(_ context.Context, _, _ shop.ID, via payment.PayVia) (payment.Payable, error) {
	paid := payment.Payment{URL: "https://pay.example/?via=" + string(via)}
	return payment.Payable{Payment: paid, PayBy: 1_700_000_300_000, Until: 1_700_000_290_000}, s.fail
}

func (s *fakeShop) AskRefund(_ context.Context, _, _ shop.ID, reason string) (shop.OrderState, error) {
	if reason == "" {
		return "", shop.Fail(shop.BadRequest, "reason is missing")
	}
	return shop.Refunding, s.fail
}

func (s *fakeShop) SearchOrders(_ context.Context, q store.OrderSearch, text string) ([]shop.Order, bool, error) {
	s.searched.Store(&searched{q, text})
	return []shop.Order{someOrder(9, cmp.Or(q.Sale, 8), cmp.Or(q.State, shop.Paid))}, true, s.fail
}

func (s *fakeShop) AnyOrder(_ context.Context, order shop.ID) (shop.Order, *payment.Refund, error) {
	return someOrder(order, 8, shop.Refunding), &payment.Refund{
		Order: order, Request: "R7", State: payment.RefundStuck, AskedBy: 42,
	}, s.fail
}

func (s *fakeShop) ListRefunds(_ context.Context, q payment.RefundsQuery) ([]payment.Refund, bool, error) {
	if q.State == payment.RefundStuck {
		return nil, false, s.fail
	}
	return []payment.Refund{{Order: 7, Request: "R7", State: payment.RefundAsked, AmountFen: 9800, Reason: "too large"}}, false,
		s.fail
}

func (s *fakeShop) DecideRefund(
	_ context.Context, actor journal.Actor, order shop.ID, yes bool, note string,
) (shop.Order, error) {
	s.actor.Store(&actor)
	s.decided.Store(&payment.RefundDecision{Order: order, By: actor.User, Yes: yes, Note: note})
	return someOrder(order, 8, shop.Refunding), s.fail
}

func (s *fakeShop) RetryRefund(_ context.Context, actor journal.Actor, _ shop.ID) error {
	return s.acted(actor)
}

func (s *fakeShop) onSale(
	actor journal.Actor, sale shop.ID, a backoffice.SaleAct, added int64,
) (backoffice.OperatorSale, error) {
	s.actor.Store(&actor)
	return backoffice.OperatorSale{
		SaleTerms: shop.SaleTerms{
			ID: sale, Version: a.Version + 1, Challenge: shop.ChallengeNone, PriceFen: 4900, Limit: 1, Cap: 8,
			OpensAt: 1_700_000_000_000, ClosesAt: 1_700_000_600_000, Initial: 10, Added: added,
		},
		Slot: 1, ProductName: "Lamp", Phase: shop.Open, Stock: 10 + added,
	}, s.fail
}

func (s *fakeShop) PauseSale(
	_ context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct,
) (backoffice.OperatorSale, error) {
	terms, err := s.onSale(actor, sale, a, 0)
	terms.Paused = true
	return terms, err
}

func (s *fakeShop) ResumeSale(
	_ context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct,
) (backoffice.OperatorSale, error) {
	return s.onSale(actor, sale, a, 0)
}

func (s *fakeShop) EndSale(
	_ context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct,
) (backoffice.OperatorSale, error) {
	if a.Version == 99 {
		return backoffice.OperatorSale{}, journal.Changed(
			"the sale", backoffice.OperatorSale{SaleTerms: shop.SaleTerms{ID: sale, Version: 100}},
		)
	}
	return s.onSale(actor, sale, a, 0)
}

func (s *fakeShop) AddStock(
	_ context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct, units int64,
) (backoffice.OperatorSale, error) {
	return s.onSale(actor, sale, a, units)
}

func (s *fakeShop) WithdrawStock(
	_ context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct, units int64,
) (backoffice.OperatorSale, shop.StockAct, error) {
	terms, err := s.onSale(actor, sale, a, 0)
	act := shop.StockAct{ID: 3, Sale: sale, Units: units, Taken: 1, State: shop.StockDone, At: 1_700_000_000_000}
	return terms, act, err
}

func (s *fakeShop) AddGuests(_ context.Context, _ journal.Actor, sale shop.ID, n int) ([]string, error) {
	return slices.Repeat([]string{"bound to " + sale.String()}, n), s.fail
}

func (s *fakeShop) SetSaleChallenge(
	_ context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct, c shop.Challenge,
) (backoffice.OperatorSale, error) {
	terms, err := s.onSale(actor, sale, a, 0)
	terms.Challenge = c
	return terms, err
}

var someBlock = store.Block{
	ID: 3, Kind: store.BlockUser, Value: "7", Reason: "resells", CreatedBy: "Ada", CreatedAt: 1_700_000_000_000,
}

func (s *fakeShop) ListBlocks(context.Context) ([]store.Block, error) {
	return []store.Block{someBlock}, s.fail
}

func (s *fakeShop) AddBlock(
	_ context.Context, actor journal.Actor, b store.Block, lasts time.Duration,
) (store.Block, error) {
	s.actor.Store(&actor)
	b.ID, b.CreatedBy, b.CreatedAt = 4, actor.Name, 1_700_000_000_000
	if lasts > 0 {
		b.Until = b.CreatedAt.Add(lasts)
	}
	return b, s.fail
}

func (s *fakeShop) RemoveBlock(_ context.Context, actor journal.Actor, id int64) error {
	s.actor.Store(&actor)
	if id == 99 {
		return shop.Fail(shop.NotFound, "no block in force has the number 99")
	}
	return s.fail
}

func (s *fakeShop) Switches(context.Context) (backoffice.Switches, error) {
	return (&backoffice.Switchboard{}).Now(), s.fail
}

func (s *fakeShop) EditSwitches(
	_ context.Context, actor journal.Actor, e backoffice.SwitchesEdit,
) (backoffice.Switches, error) {
	s.actor.Store(&actor)
	out := (&backoffice.Switchboard{}).Now()
	out.Version, out.TickMS = e.Version+1, *e.TickMS
	return out, s.fail
}

func (s *fakeShop) StandingNotice(context.Context, shop.Millis) (*shop.Notice, error) {
	return &shop.Notice{Level: "warning", Text: "Payments are slow.", Version: 1}, s.fail
}

func (s *fakeShop) TellAll(_ context.Context, actor journal.Actor, n backoffice.NewNotice) (shop.Notice, error) {
	s.actor.Store(&actor)
	said := shop.Notice{Level: n.Level, Text: n.Text, Until: n.Until, Version: 1}
	if n.Lang != "" {
		said.Text, said.Texts = "", map[string]string{n.Lang: n.Text}
	}
	return said, s.fail
}

func (s *fakeShop) TakeBack(_ context.Context, actor journal.Actor) (shop.Notice, error) {
	s.actor.Store(&actor)
	return shop.Notice{Version: 2}, s.fail
}

func (s *fakeShop) ListJournal(_ context.Context, q journal.JournalQuery) ([]journal.JournalEntry, bool, error) {
	e := journal.JournalEntry{
		Seq: q.Before + 1, At: 1_700_000_000_000, ActorID: 1, ActorName: "Ada", Role: shop.Operator, Via: journal.ViaHTTP,
		Source: "192.0.2.7", Request: "r-1", Key: "key-00001", Kind: "sale.pause", Object: "sale:5",
		Before: json.RawMessage(`{"paused":false}`), After: json.RawMessage(`{"paused":true}`), Note: "too fast",
	}
	e.Hash = e.Sum()
	return []journal.JournalEntry{e}, true, s.fail
}

func (s *fakeShop) VerifyJournal(_ context.Context, head string) (journal.JournalReport, error) {
	if head != "" {
		_, err := journal.ParseJournalHead(head)
		return journal.JournalReport{Wrong: "row 3 follows row 1", At: 3}, err
	}
	return journal.JournalReport{
		Rows: 3, OK: true, Head: journal.JournalHead{Seq: 3, Hash: strings.Repeat("a", 64)},
	}, s.fail
}

// Order 7 belongs to user 42 and nobody else.
func (s *fakeShop) Order(_ context.Context, user, id shop.ID) (shop.Order, error) {
	if user != 42 || id != 7 {
		return shop.Order{}, shop.Fail(shop.NotFound, "no such order")
	}
	return someOrder(id, 8, s.state.Load().(shop.OrderState)), s.fail
}

func (s *fakeShop) OrdersOf(_ context.Context, q shop.OrdersQuery) ([]shop.Order, bool, error) {
	return []shop.Order{someOrder(9, cmp.Or(q.Sale, 8), shop.Paid)}, false, s.fail
}

type site struct {
	t     *testing.T
	shop  *fakeShop
	front *HTTPServer
	url   string
	conns *limitedListener
	close chan struct{} // what Options.Closing is

	anyCode bool // flows may fail in ways that the routes are not said to
}

// options are those of an open shop, before a test changes them.
func (s *site) options() Options {
	return Options{
		Catalogue: &fakeCatalogue{}, Pictures: fakePictures{}, Readiness: func(context.Context,
			shop.ID,
		) (backoffice.Readiness, error) {
			return backoffice.Readiness{Sale: someSaleRecord(), Checks: []backoffice.Check{
				{Name: "stock", State: backoffice.CheckFail, Code: backoffice.FoundNotLoaded, Says: "it is not loaded", Do: "look", Link: "l#x"},
			}}, nil
		},
		Shop: s.shop, Accounts: &fakeAccounts{}, Data: fakeData{},
		Guest: func(string) (any, error) {
			return map[string]any{"access": "a", "user": map[string]string{"id": "42", "name": "Guest"}}, nil
		},
		Mount: func(web *fiber.App, path string, front ...fiber.Handler) {
			web.Get(path, append(front, func(c *fiber.Ctx) error { return c.SendString("socket") })...)
		},
		Page: fstest.MapFS{
			"index.html": {Data: []byte(strings.Repeat("<p>hello</p>", 100))}, "assets/a.1.js": {Data: []byte("1")},
			"console.html": {Data: []byte("<p>console</p>")}, "console/assets/b.1.js": {Data: []byte("2")},
			".vite/manifest.json": {Data: []byte("{}")},
		},
		Closing: s.close, Board: emptyBoard, Metrics: NewMetrics(), Zone: time.UTC,
		Switches: (&backoffice.Switchboard{}).Now, Blocked: noneBlocked,
		Admit:  func(limits.Class, shop.ID, netip.Addr) error { return nil },
		MayBuy: func(shop.ID, netip.Addr, shop.ID) error { return nil }, NoBuy: func(shop.ID, error) {},
	}
}

func noneBlocked(netip.Addr) bool { return false }

func emptyBoard(context.Context) board.BoardHistory {
	return board.BoardHistory{Board: board.Board{
		RefusedS: map[shop.Code]float64{}, Sales: []board.BoardSale{}, Partitions: []board.PartitionFigures{},
		Nodes: []board.NodeFigures{}, Alarms: []board.Alarm{},
	}, History: []board.BoardPoint{}}
}

// open starts a real server on a free port.
func open(t *testing.T, change func(*Options)) *site {
	t.Helper()
	return openFor(t, 1000, change)
}

// openFor is open with as many connections for an address, and a server that may be tuned before it serves.
func openFor(t *testing.T, most int, change func(*Options), tune ...func(f *HTTPServer)) *site {
	t.Helper()
	s := &site{t: t, shop: &fakeShop{}, close: make(chan struct{})}
	s.shop.state.Store(shop.Reserved)
	o := s.options()
	if change != nil {
		change(&o)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	s.front = NewHTTPServer(func() error { return nil }, headerLimit, time.Minute)
	s.front.server.WriteTimeout = 2 * time.Second // shorter than a long poll, which it must not cut
	for _, do := range tune {
		do(s.front)
	}
	s.front.AllowLong(func(token string) bool { return token == "user-1" || token == "user-2" })
	s.front.Open(New(o))
	done := make(chan error, 1)
	s.conns = LimitConns(l, most, o.Proxies, o.Blocked).(*limitedListener)
	go func() { done <- s.front.Serve(s.conns) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(s.front.Shutdown(ctx), <-done); err != nil {
			t.Error(err)
		}
	})
	return s
}

type answer struct {
	code   int
	body   string
	header http.Header
}

// ask sends a request on a connection of its own.
func (s *site) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &contract.Transport{T: s.t, AnyCode: s.anyCode}
	res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res.StatusCode, string(text), res.Header}
}

// send sends a text on a connection of its own, which lasts a minute. Its reply may come before all of it is sent.
func (s *site) send(text string) net.Conn {
	s.t.Helper()
	conn, err := s.dialFrom("127.0.0.1")
	if err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, text)
	return conn
}

// raw sends a text and reads one reply.
func (s *site) raw(text string) (*http.Response, []byte) {
	s.t.Helper()
	conn := s.send(text)
	defer func() { _ = conn.Close() }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%.60q: %v", text, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return res, body
}

// want checks status and a part of the body.
func (s *site) want(a answer, code int, part string) {
	s.t.Helper()
	if a.code != code || !strings.Contains(a.body, part) {
		s.t.Errorf("got %d %s, want %d with %q", a.code, a.body, code, part)
	}
}
