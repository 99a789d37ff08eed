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
	// replyTimeout is how long a call waits for its reply before it closes the connection. It is longer than any op
	// takes.
	replyTimeout = 30 * time.Second
)

// ErrNoReply is the error of a call whose outcome is unknown.
var ErrNoReply = errors.New("no reply: the socket closed, or received nothing for 30 s")

// Conn is an open socket.
type Conn struct {
	dialer Dialer
	socket *websocket.Conn
	done   chan struct{} // closed when the reading goroutine ends
	err    error         // why the connection ended; written before done is closed

	writeMu sync.Mutex // one frame at a time

	mu      sync.Mutex
	lastID  int64
	pending map[int64]pendingOp // ops without a reply
	cursor  string
}

// pendingOp is a pending op. Without a channel, the Dialer's callback receives the reply.
type pendingOp struct {
	request Request
	reply   chan *Frame
}

// Send sends an op with the next id and does not wait. The callback of the Dialer receives the reply and the request.
func (c *Conn) Send(r Request) error { return c.send(r, nil) }

// Do sends an op with the next id, waits for the reply and returns its ok member.
func (c *Conn) Do(r Request) (json.RawMessage, error) {
	reply := make(chan *Frame, 1)
	if c.send(r, reply) != nil {
		return nil, ErrNoReply
	}
	defer time.AfterFunc(replyTimeout, func() { _ = c.socket.Close() }).Stop()
	var f *Frame
	select {
	case f = <-reply:
	case <-c.done:
		select {
		case f = <-reply: // the reply was the last frame
		default:
			return nil, ErrNoReply
		}
	}
	if f.Error != nil {
		return nil, f.Error
	}
	return f.OK, nil
}

func (c *Conn) send(r Request, reply chan *Frame) error {
	c.mu.Lock()
	c.lastID++
	r.ID = c.lastID
	c.pending[r.ID] = pendingOp{r, reply}
	c.mu.Unlock()
	if err := c.SendRaw(Text, r.Encode()); err != nil {
		return fmt.Errorf("send %s: %w", r.Op, err)
	}
	return nil
}

// SendRaw writes a frame unchanged, Text or Binary.
func (c *Conn) SendRaw(kind int, frame []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_ = c.socket.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.socket.WriteMessage(kind, frame)
}

// Cursor returns the cursor of the newest personal event or hello; "" before the first one.
func (c *Conn) Cursor() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cursor
}

// Done is closed when the connection has ended. No frames follow.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended; nil while it is open.
func (c *Conn) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close closes the connection without a close frame.
func (c *Conn) Close() {
	_ = c.socket.Close()
	<-c.done
}

// read delivers frames until the connection ends.
func (c *Conn) read() {
	defer close(c.done)
	defer c.socket.Close()
	pong := c.socket.PingHandler()
	c.socket.SetPingHandler(func(text string) error {
		c.extendDeadline()
		return pong(text)
	})
	for c.err == nil {
		c.extendDeadline()
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

// extendDeadline restarts the timeout Dialer.Silence.
func (c *Conn) extendDeadline() {
	if c.dialer.Silence > 0 {
		_ = c.socket.SetReadDeadline(time.Now().Add(c.dialer.Silence))
	}
}

// deliver passes a frame to Dialer.Seen. Then it passes a reply to the waiting call, and any other frame to
// Dialer.OnFrame.
func (c *Conn) deliver(f *Frame) {
	reply := c.matchReply(f)
	if c.dialer.Seen != nil {
		c.dialer.Seen(f)
	}
	switch {
	case reply != nil:
		reply <- f
	case c.dialer.OnFrame != nil:
		c.dialer.OnFrame(f)
	}
}

// matchReply finds the request of a reply and the call that waits for the reply. It also advances the cursor.
// matchReply is called for all frames in the order of their arrival, so the cursor of hello cannot overwrite the cursor
// of a later event.
func (c *Conn) matchReply(f *Frame) (reply chan *Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := f.Event.(*OrderEvent); ok {
		c.cursor = o.Cursor
	}
	if f.Ev != "" {
		return nil
	}
	q := c.pending[f.ID]
	delete(c.pending, f.ID)
	f.Request = q.request
	if q.request.Op == Hello && f.OK != nil {
		var welcome struct{ Cursor string }
		_ = json.Unmarshal(f.OK, &welcome) // the waiting call decodes the reply and reports the error
		c.cursor = welcome.Cursor
	}
	return q.reply
}

// CodeOf returns the error code of a refused op; "" if the op succeeded or its outcome is unknown.
func CodeOf(err error) shop.Code {
	if e, ok := errors.AsType[*shop.Error](err); ok {
		return e.Code
	}
	return ""
}

// CloseCode returns the code of the close frame that ended a connection; 0 without a close frame.
func CloseCode(err error) int {
	if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
		return closed.Code
	}
	return 0
}
