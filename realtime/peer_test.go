package realtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
	"stampede/app/apptest"
)

// patience is how long a test waits for what must happen: far longer than it takes on a machine that is busy with other things.
const patience = 30 * time.Second

// peer is the other end of a socket: it keeps all that it hears.
type peer struct {
	t    *testing.T
	conn *websocket.Conn

	writing sync.Mutex
	lastID  int64
	mu      sync.Mutex
	heard   []heard
	ended   error
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
	d := websocket.Dialer{Subprotocols: []string{Subprotocol}, HandshakeTimeout: patience}
	conn, resp, err := d.Dial("ws://"+n.addr+"/ws", http.Header{})
	if err != nil {
		t.Fatalf("dial: %v (%v)", err, resp)
	}
	return newPeer(t, conn)
}

func newPeer(t *testing.T, conn *websocket.Conn) *peer {
	p := &peer{t: t, conn: conn}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.listen()
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return p
}

func (p *peer) listen() {
	for {
		_, frame, err := p.conn.ReadMessage()
		p.mu.Lock()
		if err != nil {
			p.ended = err
			p.mu.Unlock()
			return
		}
		var h heard
		if err := json.Unmarshal(frame, &h); err != nil {
			p.t.Errorf("unreadable frame %s: %v", frame, err)
		}
		p.heard = append(p.heard, h)
		p.mu.Unlock()
	}
}

// send writes a raw text frame.
func (p *peer) send(frame string) {
	p.t.Helper()
	p.sendAs(websocket.TextMessage, frame)
}

func (p *peer) sendAs(kind int, frame string) {
	p.t.Helper()
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := p.conn.WriteMessage(kind, []byte(frame)); err != nil {
		p.t.Errorf("send: %v", err)
	}
}

// sendUnlessEnded is send for a peer that the server may be ending right now.
func (p *peer) sendUnlessEnded(frame string) {
	p.writing.Lock()
	defer p.writing.Unlock()
	_ = p.conn.WriteMessage(websocket.TextMessage, []byte(frame))
}

// do sends an op, given without id, and waits for its reply.
func (p *peer) do(op string) heard {
	p.t.Helper()
	p.writing.Lock()
	p.lastID++
	id := p.lastID
	p.writing.Unlock()
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
		return false, fmt.Sprintf("no %s among %d frames, ended: %v", what, len(p.heard), p.ended)
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
	var ended error
	apptest.Eventually(p.t, patience, func() (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		ended = p.ended
		return ended != nil, "the socket is still open"
	})
	var closed *websocket.CloseError
	if !errors.As(ended, &closed) || closed.Code != int(want) || bye.Code != want {
		p.t.Fatalf("ended with %v after bye %d, want %d", ended, bye.Code, want)
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
