package e2e

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
)

// client is one socket, as a phone has it.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	gone chan struct{} // closed when the socket ended

	writing sync.Mutex
	mu      sync.Mutex
	lastID  int
	replies map[int]chan reply
	events  []event
	ticks   map[app.ID]app.SaleView // the newest numbers of each sale
	cursor  string
	closed  error
}

type reply struct {
	ID    int             `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error *app.Error      `json:"error"`
}

type event struct {
	Ev     string         `json:"ev"`
	Cursor string         `json:"cursor"`
	Key    string         `json:"key"`
	Order  app.Order      `json:"order"`
	Sales  []app.SaleView `json:"sales"`
	Code   int            `json:"code"`
	Retry  int64          `json:"retry_ms"`
}

type hello struct {
	Now          int64             `json:"now"`
	Session      string            `json:"session"`
	Cursor       string            `json:"cursor"`
	Missed       []event           `json:"missed"`
	Reset        bool              `json:"reset"`
	Reservations []app.Reservation `json:"reservations"`
}

// dial opens a socket and says nothing yet.
func dial(t *testing.T, n *node) *client {
	t.Helper()
	c, err := tryDial(t, n)
	if err != nil {
		t.Fatalf("dial %s: %v", n.addr, err)
	}
	return c
}

func tryDial(t *testing.T, n *node) (*client, error) {
	d := websocket.Dialer{Subprotocols: []string{"stampede.v1"}, HandshakeTimeout: 20 * time.Second}
	conn, resp, err := d.Dial("ws://"+n.addr+"/ws", http.Header{"Origin": {"http://" + n.addr}})
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	c := &client{t: t, conn: conn, gone: make(chan struct{}), replies: make(map[int]chan reply), ticks: make(map[app.ID]app.SaleView)}
	go c.read()
	t.Cleanup(c.close)
	return c, nil
}

// login opens a socket and says hello for the user.
func login(t *testing.T, n *node, user app.ID, cursor string) (*client, hello) {
	t.Helper()
	c := dial(t, n)
	return c, c.hello(token(t, user), cursor)
}

func (c *client) hello(token, cursor string) hello {
	c.t.Helper()
	frame := map[string]any{"op": "hello", "token": token}
	if cursor != "" {
		frame["cursor"] = cursor
	}
	var h hello
	c.must(frame, &h)
	return h
}

func (c *client) read() {
	defer close(c.gone)
	for {
		_, frame, err := c.conn.ReadMessage()
		if err != nil {
			c.mu.Lock()
			c.closed = err
			c.mu.Unlock()
			return
		}
		c.take(frame)
	}
}

func (c *client) take(frame []byte) {
	var e event
	if err := json.Unmarshal(frame, &e); err == nil && e.Ev != "" {
		c.mu.Lock()
		if e.Ev == "tick" {
			for _, sale := range e.Sales {
				c.ticks[sale.ID] = sale
			}
		} else {
			c.events = append(c.events, e)
		}
		if e.Cursor != "" {
			c.cursor = e.Cursor
		}
		c.mu.Unlock()
		return
	}
	var r reply
	if err := json.Unmarshal(frame, &r); err != nil {
		return
	}
	c.mu.Lock()
	waiting := c.replies[r.ID]
	delete(c.replies, r.ID)
	c.mu.Unlock()
	if waiting != nil {
		waiting <- r
	}
}

var errGone = errors.New("the socket ended before the reply")

// do sends an op and waits for its reply.
func (c *client) do(frame map[string]any) (json.RawMessage, error) {
	answer := make(chan reply, 1)
	c.mu.Lock()
	c.lastID++
	frame["id"] = c.lastID
	c.replies[c.lastID] = answer
	c.mu.Unlock()
	text, err := json.Marshal(frame)
	if err != nil {
		return nil, err
	}
	c.writing.Lock()
	err = c.conn.WriteMessage(websocket.TextMessage, text)
	c.writing.Unlock()
	if err != nil {
		return nil, errGone
	}
	select {
	case r := <-answer:
		if r.Error != nil {
			return nil, r.Error
		}
		return r.OK, nil
	case <-c.gone:
		return nil, errGone
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("no reply to %s within 30 s", text)
	}
}

// must does an op that has to succeed.
func (c *client) must(frame map[string]any, into any) {
	c.t.Helper()
	ok, err := c.do(frame)
	if err != nil {
		c.t.Fatalf("%v: %v", frame["op"], err)
	}
	if into != nil {
		if err := json.Unmarshal(ok, into); err != nil {
			c.t.Fatalf("%v answered %s: %v", frame["op"], ok, err)
		}
	}
}

// fails does an op that has to fail with the code.
func (c *client) fails(code app.Code, frame map[string]any) *app.Error {
	c.t.Helper()
	ok, err := c.do(frame)
	var e *app.Error
	if !errors.As(err, &e) || e.Code != code {
		c.t.Fatalf("%v: got ok %s, error %v; want %s", frame, ok, err, code)
	}
	return e
}

func (c *client) buy(sale app.ID, qty int, key string) (app.Receipt, error) {
	ok, err := c.do(map[string]any{"op": "buy", "sale": sale, "qty": qty, "key": key})
	if err != nil {
		return app.Receipt{}, err
	}
	var r app.Receipt
	return r, json.Unmarshal(ok, &r)
}

// buyUntilKnown repeats a buy with the same key while its outcome is unknown, as every client must (I6).
func (c *client) buyUntilKnown(sale app.ID, qty int, key string) (app.Receipt, error) {
	for range 200 {
		r, err := c.buy(sale, qty, key)
		var e *app.Error
		if !errors.As(err, &e) || (e.Code != app.Busy && e.Code != app.RateLimited) {
			return r, err
		}
		c.pause(e.RetryMS)
	}
	return app.Receipt{}, errors.New("busy 200 times")
}

// pause keeps the pause that the server asked for, or what one socket needs to stay below its message rate. It waits
// for nothing that anybody else does.
func (c *client) pause(ms int64) {
	over := time.NewTimer(time.Duration(max(ms, 40)) * time.Millisecond)
	defer over.Stop()
	select {
	case <-over.C:
	case <-c.gone:
	}
}

// ordersHeard lists the order events so far.
func (c *client) ordersHeard() []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	var heard []event
	for _, e := range c.events {
		if e.Ev == "order" {
			heard = append(heard, e)
		}
	}
	return heard
}

// heard reports whether an order event of this state has come.
func (c *client) heard(order app.ID, state app.OrderState) bool {
	for _, e := range c.ordersHeard() {
		if e.Order.ID == order && e.Order.State == state {
			return true
		}
	}
	return false
}

// lastTick is what the newest tick said of a sale.
func (c *client) lastTick(sale app.ID) (stock, held int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ticks[sale].Stock, c.ticks[sale].Held
}

func (c *client) lastCursor() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cursor
}

func (c *client) close() {
	_ = c.conn.Close()
	<-c.gone
}
