package realtime

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// testTimeout is the time limit for expected events. It is far longer than they take on a busy machine.
const testTimeout = time.Minute

// peer is the client end of a socket. It stores all received frames, except the replies that the method call returns.
type peer struct {
	t    *testing.T
	conn *wsclient.Conn

	mu       sync.Mutex
	received []*wsclient.Frame
}

func (n *node) dial(t *testing.T) *peer {
	t.Helper()
	p := &peer{t: t}
	dialer := wsclient.Dialer{Timeout: testTimeout, OnFrame: func(f *wsclient.Frame) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.received = append(p.received, f)
	}}
	var err error
	if p.conn, err = dialer.Dial(t.Context(), "http://"+n.addr); err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() {
		p.conn.Close()
		if err := p.conn.Err(); errors.Is(err, wsclient.ErrFrame) {
			t.Error(err)
		}
	})
	return p
}

// send writes a raw text frame.
func (p *peer) send(frame string) {
	p.t.Helper()
	p.sendAs(wsclient.Text, frame)
}

func (p *peer) sendAs(kind int, frame string) {
	p.t.Helper()
	if err := p.conn.SendRaw(kind, []byte(frame)); err != nil {
		p.t.Errorf("send: %v", err)
	}
}

// sendUnlessEnded is like send but ignores errors, because the server may be closing the socket.
func (p *peer) sendUnlessEnded(frame string) {
	_ = p.conn.SendRaw(wsclient.Text, []byte(frame))
}

// call sends an op, which is given without id, and returns its reply.
func (p *peer) call(op string) *wsclient.Frame {
	p.t.Helper()
	ok, err := p.conn.Do(wsclient.Request{Text: op})
	var refused *shop.Error
	if err != nil && !errors.As(err, &refused) {
		p.t.Fatalf("op %s: got error %v, want a reply", op, err)
	}
	return &wsclient.Frame{OK: ok, Error: refused}
}

// mustCall calls call and fails the test if the op fails. It decodes the reply into ok, which may be nil.
func (p *peer) mustCall(op string, ok any) {
	p.t.Helper()
	r := p.call(op)
	if r.Error != nil {
		p.t.Fatalf("op %s: got error %v", op, r.Error)
	}
	if ok != nil {
		if err := json.Unmarshal(r.OK, ok); err != nil {
			p.t.Fatalf("op %s: decode reply %s: %v", op, r.OK, err)
		}
	}
}

// wantError calls call and fails the test unless the op fails with the code and a message. It returns the error.
func (p *peer) wantError(op string, code shop.Code) *shop.Error {
	p.t.Helper()
	e := cmp.Or(p.call(op).Error, &shop.Error{})
	if e.Code != code || e.Message == "" {
		p.t.Errorf("%s: got error %+v, want %s", op, e, code)
	}
	return e
}

// hello sends hello for the user; user 0: anonymous, cursor "": a new client.
func (p *peer) hello(user shop.ID, cursor string) wsclient.Welcome {
	p.t.Helper()
	token := ""
	if user != 0 {
		token = fmt.Sprintf("user:%d", user)
	}
	ok, err := p.conn.Hello(token, cursor)
	if err != nil {
		p.t.Fatalf("hello: %v", err)
	}
	return ok
}

// connect connects and sends hello without a cursor.
func (n *node) connect(t *testing.T, user shop.ID) *peer {
	t.Helper()
	p := n.dial(t)
	p.hello(user, "")
	return p
}

// connectAs connects and sends hello with the token.
func (n *node) connectAs(t *testing.T, token string) *peer {
	t.Helper()
	p := n.dial(t)
	p.mustCall(`"op":"hello","token":"`+token+`"`, nil)
	return p
}

// await returns the first frame that matches. It waits for such a frame and does not remove it.
func (p *peer) await(what string, matches func(f *wsclient.Frame) bool) (found *wsclient.Frame) {
	p.t.Helper()
	kit.Eventually(p.t, testTimeout, func() (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range p.received {
			if matches(f) {
				found = f
				return true, ""
			}
		}
		return false, fmt.Sprintf("no %s among %d frames, ended: %v", what, len(p.received), p.conn.Err())
	})
	return found
}

// awaitTick waits for a tick whose lines match.
func (p *peer) awaitTick(what string, matches func(lines map[shop.ID]wsclient.TickLine) bool) {
	p.t.Helper()
	p.await(what, func(f *wsclient.Frame) bool { return f.Ev == "tick" && matches(lines(f)) })
}

// lines returns the lines of a tick by sale.
func lines(tick *wsclient.Frame) map[shop.ID]wsclient.TickLine {
	bySale := make(map[shop.ID]wsclient.TickLine)
	for _, line := range tick.Event.(*wsclient.TickEvent).Sales {
		bySale[line.ID] = line
	}
	return bySale
}

// isReply reports whether a frame is the reply to the op with this id.
func isReply(f *wsclient.Frame, id int64) bool { return f.Ev == "" && f.ID == id }

// all returns the events of the name received so far.
func (p *peer) all(ev string) []*wsclient.Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*wsclient.Frame
	for _, f := range p.received {
		if f.Ev == ev {
			found = append(found, f)
		}
	}
	return found
}

// orders returns the order events received so far.
func (p *peer) orders() (events []*wsclient.OrderEvent) {
	for _, f := range p.all("order") {
		events = append(events, f.Event.(*wsclient.OrderEvent))
	}
	return events
}

// awaitEvents waits until n events of the name were received.
func (p *peer) awaitEvents(ev string, n int) (found []*wsclient.Frame) {
	p.t.Helper()
	kit.Eventually(p.t, testTimeout, func() (bool, string) {
		found = p.all(ev)
		return len(found) >= n, fmt.Sprintf("%d of %d %s events", len(found), n, ev)
	})
	return found
}

// awaitClose waits for the end of the socket, and checks that bye and the close frame have this code.
func (p *peer) awaitClose(want CloseCode) {
	p.t.Helper()
	bye := p.awaitEvents("bye", 1)[0].Event.(*wsclient.ByeEvent)
	select {
	case <-p.conn.Done():
	case <-time.After(testTimeout):
		p.t.Fatal("the socket is still open, want it closed")
	}
	if err := p.conn.Err(); wsclient.CloseCode(err) != int(want) || bye.Code != int(want) {
		p.t.Fatalf("got the end %v after bye %d, want code %d", err, bye.Code, want)
	}
	if want.MayReconnect() != (bye.RetryMS > 0) {
		p.t.Errorf("code %d: got retry_ms %d, want it above 0 only if the client may reconnect", want, bye.RetryMS)
	}
}

// waitHandled waits until the server has handled all ops that this peer has sent.
func (p *peer) waitHandled() {
	p.t.Helper()
	p.mustCall(`"op":"time","t0":1`, nil)
}
