package realtime

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/admission"
	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

func TestEveryOpRepliesWithItsID(t *testing.T) {
	t.Parallel()
	p := startNode(t).dial(t)
	ok := p.hello(7, "")
	if ok.User == nil || ok.User.ID != 7 || ok.Session == "" || ok.Cursor == "" || ok.Reset {
		t.Fatalf("got the reply %+v to hello, want user 7, a session and a cursor", ok)
	}
	for _, op := range []string{
		`"op":"time","t0":12.5`,
		`"op":"renew","token":"user:7"`,
		`"op":"watch"`,
		`"op":"watch","sales":["41","42"]`,
		`"op":"unwatch","slot":"1"`,
		`"op":"unwatch"`,
		`"op":"buy","sale":"11","qty":1,"key":"abcdefgh","future":{"field":1}`,
		`"op":"pass","sale":"11"`,
		`"op":"solve","sale":"11","task":"t-1","answer":"right"`,
		`"op":"cancel","order":"5"`,
		`"op":"pay","order":"5","via":"page"`,
		`"op":"refund","order":"5","reason":"too large"`,
		`"op":"orders","limit":5`,
		`"op":"seen","cursor":"` + ok.Cursor + `"`,
	} {
		p.mustCall(op, nil)
	}
}

// A pass is issued for the user of the token and the address of the socket, not for fields of the frame.
func TestPassIsIssuedForTokenUserAndSocketAddress(t *testing.T) {
	t.Parallel()
	p := startNode(t).connect(t, 7)
	var given, solved admission.PassResult
	p.mustCall(`"op":"pass","sale":"11","user":"8"`, &given)
	p.mustCall(`"op":"solve","sale":"11","task":"t-1","answer":"right"`, &solved)
	if given.Pass != "7-11-127.0.0.1" || solved.Pass != "t-1" {
		t.Errorf("got the passes %+v and %+v, want 7-11-127.0.0.1 and t-1", given, solved)
	}
}

// Every invalid frame gets an error reply with the id of the frame, and the socket stays open.
func TestInvalidInputGetsErrorAndKeepsSocketOpen(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.OpsBurst = 1000 })
	n.shop.set(func(s *fakeShop) {
		s.buy = func(_ shop.ID, r order.BuyRequest) (order.Receipt, error) {
			if r.Qty > 2 {
				return order.Receipt{}, shop.Fail(shop.LimitReached, "at most 2")
			}
			return order.Receipt{}, shop.Fail(shop.NotFound, "no such sale")
		}
	})
	p := n.connect(t, 7)
	for op, want := range map[string]shop.Code{
		`"op":"dance"`:                                  shop.UnknownOp,
		`"noop":1`:                                      shop.BadRequest,
		`"op":5`:                                        shop.BadRequest,
		`"op":"hello"`:                                  shop.WrongState,
		`"op":"time"`:                                   shop.BadRequest,
		`"op":"time","t0":"x"`:                          shop.BadRequest,
		`"op":"renew"`:                                  shop.BadRequest,
		`"op":"renew","token":"nonsense"`:               shop.Unauthorized,
		`"op":"renew","token":"user:8"`:                 shop.Forbidden,
		`"op":"watch","slot":1`:                         shop.BadRequest,
		`"op":"watch","sales":"11"`:                     shop.BadRequest,
		`"op":"watch","sales":[null]`:                   shop.BadRequest,
		`"op":"watch","sales":[` + idList(21) + `]`:     shop.BadRequest,
		`"op":"buy","qty":1,"key":"abcdefgh"`:           shop.BadRequest,
		`"op":"buy","sale":"11","key":"abcdefgh"`:       shop.BadRequest,
		`"op":"buy","sale":"11","qty":1`:                shop.BadRequest,
		`"op":"buy","sale":11,"qty":1,"key":"abcdefgh"`: shop.BadRequest,
		buyFields(`0`):                                  shop.BadRequest,
		buyFields(`99999999999999999999`):               shop.LimitReached,
		buyFields(`1,"address":"Beijing"`):              shop.BadRequest,
		buyFields(`1`):                                  shop.NotFound,
		`"op":"pass"`:                                   shop.BadRequest,
		`"op":"pass","sale":11`:                         shop.BadRequest,
		`"op":"solve","task":"t","answer":"right"`:      shop.BadRequest,
		`"op":"solve","sale":"11","task":7`:             shop.BadRequest,
		`"op":"solve","sale":"11","answer":["1"]`:       shop.BadRequest,
		`"op":"solve","sale":"11","answer":"wrong"`:     shop.PassRequired,
		`"op":"cancel"`:                                 shop.BadRequest,
		`"op":"cancel","order":"-4"`:                    shop.BadRequest,
		`"op":"pay","via":"page"`:                       shop.BadRequest,
		`"op":"pay","order":"5"`:                        shop.BadRequest,
		`"op":"pay","order":"5","via":7`:                shop.BadRequest,
		`"op":"pay","order":5,"via":"page"`:             shop.BadRequest,
		`"op":"refund","reason":"x"`:                    shop.BadRequest,
		`"op":"refund","order":"5"`:                     shop.BadRequest,
		`"op":"refund","order":"5","reason":["x"]`:      shop.BadRequest,
		`"op":"orders","limit":0`:                       shop.BadRequest,
		`"op":"orders","before":"x"`:                    shop.BadRequest,
		`"op":"seen"`:                                   shop.BadRequest,
	} {
		p.wantError(op, want)
	}
	p.waitHandled()
}

func buyFields(qty string) string { return `"op":"buy","sale":"11","key":"abcdefgh","qty":` + qty }

func idList(n int) string { return strings.TrimSuffix(strings.Repeat(`"1",`, n), ",") }

// A frame with an invalid id gets a reply with id 0, and the socket stays open. Repeated frames of this kind close it.
func TestRepeatedUnreadableFramesCloseTheSocket(t *testing.T) {
	t.Parallel()
	p := startNode(t).connect(t, 0)
	frames := []string{`{"id":1,`, `[1]`, `{"op":"time","t0":1}`, `{"id":-1,"op":"time"}`, "{\"id\":1,\"op\":\"\xff\"}"}
	for i, frame := range frames[:maxUnreadable-1] {
		p.send(frame)
		p.await("reply to "+frame, func(f *wsclient.Frame) bool {
			return isReply(f, 0) && f.Error.Code == shop.BadRequest && i < p.count(0)
		})
	}
	p.waitHandled()
	p.send(frames[maxUnreadable-1])
	p.awaitClose(CloseProtocol)
}

// count returns the number of replies with this id. Callers hold p.mu through await.
func (p *peer) count(id int64) int {
	n := 0
	for _, f := range p.received {
		if isReply(f, id) {
			n++
		}
	}
	return n
}

func TestOpsBeforeHelloAreRejected(t *testing.T) {
	t.Parallel()
	p := startNode(t).dial(t)
	p.wantError(`"op":"time","t0":1`, shop.BadRequest)
	p.wantError(`"op":"hello","token":"forged"`, shop.Unauthorized)
	p.hello(7, "")
	p.waitHandled()
}

func TestAnonymousClientMayOnlyWatch(t *testing.T) {
	t.Parallel()
	p := startNode(t).dial(t)
	if ok := p.hello(0, ""); ok.User != nil || ok.Cursor != "" {
		t.Fatalf("got the reply %+v to hello without a token, want no user and no cursor", ok)
	}
	p.mustCall(`"op":"watch"`, nil)
	p.mustCall(`"op":"unwatch"`, nil)
	for _, op := range []string{
		buyFields(`1`), `"op":"cancel","order":"5"`, `"op":"pay","order":"5","via":"page"`,
		`"op":"pass","sale":"11"`, `"op":"solve","sale":"11","task":"t-1","answer":"right"`,
		`"op":"refund","order":"5","reason":"x"`, `"op":"orders"`, `"op":"seen","cursor":"1-1"`,
		`"op":"renew","token":"user:7"`,
	} {
		p.wantError(op, shop.Unauthorized)
	}
}

// Repeated ops `hello` with an invalid token do not extend the deadline.
func TestRejectedHelloDoesNotExtendDeadline(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.HelloWithin = 300 * time.Millisecond })
	p, silent := n.dial(t), n.dial(t)
	kit.Eventually(t, testTimeout, func() (bool, string) {
		if len(p.all("bye")) > 0 {
			return true, ""
		}
		p.sendUnlessEnded(`{"id":1,"op":"hello","token":"forged"}`)
		return false, "forged tokens keep the socket open"
	})
	p.awaitClose(CloseNoHello)
	silent.awaitClose(CloseNoHello)
}

func TestOversizedAndBinaryFramesCloseTheSocket(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	large, binary := n.connect(t, 0), n.connect(t, 0)
	large.mustCall(`"op":"time","t0":1,"pad":"`+strings.Repeat("x", maxFrame-60)+`"`, nil)
	large.send(`{"id":9,"op":"time","t0":1,"pad":"` + strings.Repeat("x", maxFrame) + `"}`)
	large.awaitClose(CloseTooLarge)
	binary.sendAs(wsclient.Binary, `{"id":9,"op":"time","t0":1}`)
	binary.awaitClose(CloseBinary)
}

func TestTooManyOpsAreRejectedThenClosed(t *testing.T) {
	t.Parallel()
	p := startNode(t, func(o *Options) { o.OpsPerSecond, o.OpsBurst = 0.1, 5 }).connect(t, 0)
	for range 4 {
		p.waitHandled()
	}
	if e := p.wantError(`"op":"time","t0":1`, shop.RateLimited); e.RetryMS < 1 {
		t.Fatalf("got the error %+v, want it with retry_ms", e)
	}
	for range 5 {
		p.send(`{"id":100,"op":"time","t0":1}`)
	}
	p.awaitClose(CloseTooFast)
}

func TestSilentPeerIsPingedThenClosed(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) {
		o.PingEvery, o.CheckEvery, o.IdleAfter = 20*time.Millisecond, 5*time.Millisecond, 200*time.Millisecond
	})
	_, dead := n.rawHandshake(t, masked(`{"id":1,"op":"hello"}`)) // a raw connection sends no pong
	last := ""
	for !strings.HasPrefix(last, `{"ev":"bye"`) {
		last = readText(t, dead)
	}
	f, err := wsclient.Parse([]byte(last))
	if err != nil {
		t.Fatal(err)
	}
	bye, code := f.Event.(*wsclient.ByeEvent), binary.BigEndian.Uint16([]byte(readText(t, dead)))
	if bye.Code != int(CloseIdle) || bye.RetryMS <= 0 || code != uint16(CloseIdle) {
		t.Errorf("got close code %d after %s, want CloseIdle with a delay", code, last)
	}
}

func TestPongKeepsTheConnectionAlive(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.PingEvery, o.CheckEvery = 20*time.Millisecond, 5*time.Millisecond })
	p := n.connect(t, 0) // the peer sends only pongs from now on
	c := n.hub.allClients()[0]
	greeted := c.aliveAt.Load()
	kit.Eventually(t, testTimeout, func() (bool, string) { return c.aliveAt.Load() > greeted, "waiting for a pong that counts" })
	p.waitHandled()
}

// startBuy returns a node and a peer with a running buy under id 101. The test finishes the buy through the channel.
func startBuy(t *testing.T) (*node, *peer, <-chan func(order.Receipt, error)) {
	t.Helper()
	n := startNode(t)
	started := make(chan func(order.Receipt, error), 1)
	n.shop.set(func(s *fakeShop) { s.buyLater = func(finish func(order.Receipt, error)) { started <- finish } })
	p := n.connect(t, 7)
	p.send(`{"id":101,` + buyFields(`1`) + `}`)
	return n, p, started
}

// A waiting buy holds no goroutine, but it holds opMu of its connection: the next op is handled after the buy.
func TestNextOpWaitsForARunningBuy(t *testing.T) {
	t.Parallel()
	n, p, started := startBuy(t)
	p.send(`{"id":102,"op":"time","t0":1}`)
	finish := <-started
	n.connect(t, 8).waitHandled() // other connections do not wait
	finish(order.Receipt{Order: 5, Ticket: 1, State: shop.Reserved}, nil)
	p.await("reply to the second op", func(f *wsclient.Frame) bool { return isReply(f, 102) })
	var order []int64
	p.mu.Lock()
	for _, f := range p.received {
		if f.ID > 100 {
			order = append(order, f.ID)
		}
	}
	p.mu.Unlock()
	if !slices.Equal(order, []int64{101, 102}) {
		t.Fatalf("got replies to the ops %v, want 101 and then 102", order)
	}
}

// A client that disconnects during its buy receives no reply and causes no failure.
func TestDisconnectDuringBuyCausesNoFailure(t *testing.T) {
	t.Parallel()
	n, p, started := startBuy(t)
	finish := <-started
	p.conn.Close()
	n.awaitClients(0)
	finish(order.Receipt{Order: 5}, nil)
}

func TestShopPanicReturnsInternalError(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.shop.set(func(s *fakeShop) {
		s.buy = func(shop.ID, order.BuyRequest) (order.Receipt, error) { panic("secret of the shop") }
	})
	p := n.connect(t, 7)
	if e := p.wantError(buyFields(`1`), shop.Internal); strings.Contains(e.Message, "secret") {
		t.Fatalf("got the error %+v, want it without the text of the panic", e)
	}
	p.waitHandled()
}

func TestNewConnectionAboveMaxPerUserClosesTheOldest(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.MaxPerUser = 2 })
	oldest, second, newest := n.connect(t, 7), n.connect(t, 7), n.connect(t, 7)
	oldest.awaitClose(CloseReplaced)
	second.waitHandled()
	newest.waitHandled()
}
