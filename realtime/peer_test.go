package realtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/apptest"
	"stampede/app/wsclient"
)

// patience is how long a test waits for what must happen: far longer than it takes on a machine that is busy with other things.
const patience = 30 * time.Second

// peer is the other end of a socket. It keeps all that it hears; its ops are sent by hand, so that their answers are among it.
type peer struct {
	t    *testing.T
	conn *wsclient.Conn

	mu     sync.Mutex
	lastID int64
	heard  []heard
}

// heard is one frame from the server, read loosely.
type heard struct {
	ID     *int64          `json:"id"`
	OK     json.RawMessage `json:"ok"`
	Error  *app.Error      `json:"error"`
	Ev     string          `json:"ev"`
	Cursor string          `json:"cursor"`
	Key    string          `json:"key"`
	Order  app.Order       `json:"order"`
	Sales  json.RawMessage `json:"sales"`
	Sale   *app.SaleView   `json:"sale"`
	Slot   app.ID          `json:"slot"`
	Phase  app.Phase       `json:"phase"`
	Text   string          `json:"text"`
	Code   CloseCode       `json:"code"`
	Retry  int64           `json:"retry_ms"`
}

func (h *heard) tick(t *testing.T) map[app.ID]app.SaleView {
	t.Helper()
	var lines []app.SaleView
	if err := json.Unmarshal(h.Sales, &lines); err != nil {
		t.Fatalf("tick %s: %v", h.Sales, err)
	}
	bySale := make(map[app.ID]app.SaleView, len(lines))
	for _, line := range lines {
		bySale[line.ID] = line
	}
	return bySale
}

type helloOK struct {
	Session      string            `json:"session"`
	User         *welcomeUser      `json:"user"`
	Cursor       string            `json:"cursor"`
	Missed       []heard           `json:"missed"`
	Reset        bool              `json:"reset"`
	Reservations []app.Reservation `json:"reservations"`
}

func (n *node) dial(t *testing.T) *peer {
	t.Helper()
	p := &peer{t: t}
	dialer := wsclient.Dialer{Timeout: patience, Heard: p.take}
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

func (p *peer) take(f *wsclient.Frame) {
	var h heard
	if err := json.Unmarshal(f.Text, &h); err != nil {
		p.t.Errorf("unreadable frame %s: %v", f.Text, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, h)
}

// send writes a raw text frame.
func (p *peer) send(frame string) {
	p.t.Helper()
	if err := p.conn.SendRaw(wsclient.Text, []byte(frame)); err != nil {
		p.t.Errorf("send: %v", err)
	}
}

// do sends an op, given without id, and waits for its reply.
func (p *peer) do(op string) heard {
	p.t.Helper()
	p.mu.Lock()
	p.lastID++
	id := p.lastID
	p.mu.Unlock()
	p.send(fmt.Sprintf(`{"id":%d,%s}`, id, op))
	return p.reply(id)
}

func (p *peer) reply(id int64) heard {
	p.t.Helper()
	return p.await("reply to "+fmt.Sprint(id), func(h heard) bool { return h.ID != nil && *h.ID == id })
}

// must is do for an op that has to succeed; ok may be nil.
func (p *peer) must(op string, ok any) {
	p.t.Helper()
	r := p.do(op)
	if r.Error != nil {
		p.t.Fatalf("%s: %v", op, r.Error)
	}
	if ok != nil {
		if err := json.Unmarshal(r.OK, ok); err != nil {
			p.t.Fatalf("%s: %s: %v", op, r.OK, err)
		}
	}
}

// hello greets as the user; 0 for nobody, cursor "" for a fresh client.
func (p *peer) hello(user app.ID, cursor string) helloOK {
	p.t.Helper()
	op := `"op":"hello"`
	if user != 0 {
		op += fmt.Sprintf(`,"token":"user:%d"`, user)
	}
	if cursor != "" {
		op += fmt.Sprintf(`,"cursor":%q`, cursor)
	}
	var ok helloOK
	p.must(op, &ok)
	return ok
}

// await waits for the first frame that fits, and leaves it where it is.
func (p *peer) await(what string, fits func(h heard) bool) heard {
	p.t.Helper()
	var found heard
	apptest.Eventually(p.t, patience, func() (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, h := range p.heard {
			if fits(h) {
				found = h
				return true, ""
			}
		}
		return false, fmt.Sprintf("no %s among %d frames, ended: %v", what, len(p.heard), p.conn.Err())
	})
	return found
}

// all lists what was heard so far under an event name.
func (p *peer) all(ev string) []heard {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []heard
	for _, h := range p.heard {
		if h.Ev == ev {
			found = append(found, h)
		}
	}
	return found
}

// awaitEvents waits until that many events of the name were heard.
func (p *peer) awaitEvents(ev string, n int) []heard {
	p.t.Helper()
	var found []heard
	apptest.Eventually(p.t, patience, func() (bool, string) {
		found = p.all(ev)
		return len(found) >= n, fmt.Sprintf("%d of %d %s events", len(found), n, ev)
	})
	return found
}

// awaitClose waits for the end of the socket, which must be said with bye and this code.
func (p *peer) awaitClose(want CloseCode) {
	p.t.Helper()
	bye := p.await("bye", func(h heard) bool { return h.Ev == "bye" })
	select {
	case <-p.conn.Done():
	case <-time.After(patience):
		p.t.Fatal("the socket is still open")
	}
	if err := p.conn.Err(); wsclient.CloseCode(err) != int(want) || bye.Code != want {
		p.t.Fatalf("ended with %v after bye %d, want %d", err, bye.Code, want)
	}
	if want.MayReconnect() != (bye.Retry > 0) {
		p.t.Errorf("code %d asks for a pause of %d ms", want, bye.Retry)
	}
}

// fence makes sure that everything sent before has been handled.
func (p *peer) fence() {
	p.t.Helper()
	p.must(`"op":"time","t0":1`, nil)
}
