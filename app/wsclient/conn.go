package wsclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app/shop"
)

const (
	writeTimeout = 5 * time.Second
	// patience is how long a call waits for its answer before it ends the connection: longer than any op takes.
	patience = 30 * time.Second
)

// ErrGone is what a call answers when nothing is known of its op.
var ErrGone = errors.New("the socket ended, or stayed silent for 30 s, before the reply")

// Conn is an open socket.
type Conn struct {
	dialer Dialer
	socket *websocket.Conn
	done   chan struct{} // closed when the reading goroutine ends
	err    error         // why; written before done is closed

	writing sync.Mutex // one frame at a time

	mu     sync.Mutex
	lastID int64
	asked  map[int64]question // ops without an answer
	cursor string
}

// question is an op under way; without a channel its answer goes to Heard.
type question struct {
	request Request
	answer  chan *Frame
}

// Send sends an op under the next id and does not wait: Heard gets the answer, together with the request.
func (c *Conn) Send(r Request) error { return c.send(r, nil) }

// Do sends an op under the next id and waits for what it gives.
func (c *Conn) Do(r Request) (json.RawMessage, error) {
	answer := make(chan *Frame, 1)
	if c.send(r, answer) != nil {
		return nil, ErrGone
	}
	defer time.AfterFunc(patience, func() { _ = c.socket.Close() }).Stop()
	var f *Frame
	select {
	case f = <-answer:
	case <-c.done:
		select {
		case f = <-answer: // it came last of all
		default:
			return nil, ErrGone
		}
	}
	if f.Error != nil {
		return nil, f.Error
	}
	return f.OK, nil
}

func (c *Conn) send(r Request, answer chan *Frame) error {
	c.mu.Lock()
	c.lastID++
	r.ID = c.lastID
	c.asked[r.ID] = question{r, answer}
	c.mu.Unlock()
	if err := c.SendRaw(Text, r.Encode()); err != nil {
		return fmt.Errorf("send %s: %w", r.Op, err)
	}
	return nil
}

// SendRaw writes a frame as it is, Text or Binary.
func (c *Conn) SendRaw(kind int, frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.socket.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.socket.WriteMessage(kind, frame)
}

// Cursor is that of the newest personal event or hello; "" before the first one.
func (c *Conn) Cursor() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cursor
}

// Done is closed when the connection has ended and nothing will be heard any more.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is why the connection ended; nil while it has not.
func (c *Conn) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the connection without a word.
func (c *Conn) Close() {
	_ = c.socket.Close()
	<-c.done
}

// read takes in what comes until the connection ends.
func (c *Conn) read() {
	defer close(c.done)
	defer c.socket.Close()
	pong := c.socket.PingHandler()
	c.socket.SetPingHandler(func(text string) error {
		c.hold()
		return pong(text)
	})
	for c.err == nil {
		c.hold()
		var text []byte
		if _, text, c.err = c.socket.ReadMessage(); c.err != nil {
			return
		}
		var f *Frame
		if f, c.err = Parse(text); c.err == nil {
			c.deliver(f)
		}
	}
}

// hold begins the silence anew.
func (c *Conn) hold() {
	if c.dialer.Silence > 0 {
		_ = c.socket.SetReadDeadline(time.Now().Add(c.dialer.Silence))
	}
}

// deliver gives a frame to whoever it is for.
func (c *Conn) deliver(f *Frame) {
	answer := c.note(f)
	if c.dialer.Seen != nil {
		c.dialer.Seen(f)
	}
	switch {
	case answer != nil:
		answer <- f
	case c.dialer.Heard != nil:
		c.dialer.Heard(f)
	}
}

// note finds out what a frame answers and who waits for it. The cursor moves here, in the order of the wire, so that
// the one of hello does not go back behind an event that came after it.
func (c *Conn) note(f *Frame) (answer chan *Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := f.Event.(*OrderEvent); ok {
		c.cursor = o.Cursor
	}
	if f.Ev != "" {
		return nil
	}
	q := c.asked[f.ID]
	delete(c.asked, f.ID)
	f.Request = q.request
	if q.request.Op == Hello && f.OK != nil {
		var welcome struct{ Cursor string }
		_ = json.Unmarshal(f.OK, &welcome) // whoever waits for it hears what is wrong with it
		c.cursor = welcome.Cursor
	}
	return q.answer
}

// CodeOf is the code of what the server refused; "" when it refused nothing, or nothing is known.
func CodeOf(err error) shop.Code {
	if e, ok := errors.AsType[*shop.Error](err); ok {
		return e.Code
	}
	return ""
}

// CloseCode is the code of the close frame that ended a connection; 0 when it ended without one.
func CloseCode(err error) int {
	if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
		return closed.Code
	}
	return 0
}
