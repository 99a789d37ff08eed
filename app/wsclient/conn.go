package wsclient

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
)

const (
	writeTimeout = 5 * time.Second
	// patience is how long a call waits for its answer: longer than any op takes on a server that is alive.
	patience = 30 * time.Second
)

// Conn is an open socket. Its methods may be called by any goroutine, except those that wait: not by Heard.
type Conn struct {
	socket  *websocket.Conn
	heard   func(*Frame)
	silence time.Duration

	done chan struct{} // closed when the reading goroutine ends
	err  error         // why; written before done is closed

	writing sync.Mutex // one frame at a time

	mu     sync.Mutex
	lastID int64
	asked  map[int64]question // ops without an answer
	cursor string
}

// question is an op under way.
type question struct {
	request Request
	answer  chan *Frame // nil: the answer goes to Heard
}

// Send sends an op under the next id and does not wait: the answer goes to Heard, together with the request.
func (c *Conn) Send(r Request) error {
	r.ID = c.ask(question{request: r})
	if err := c.SendRaw(websocket.TextMessage, r.Encode()); err != nil {
		return fmt.Errorf("send %s: %w", r.Op, err)
	}
	return nil
}

// Do sends an op under the next id and waits for what it gives.
func (c *Conn) Do(r Request) (json.RawMessage, error) {
	answer := make(chan *Frame, 1)
	r.ID = c.ask(question{r, answer})
	return c.await(r.Encode(), answer)
}

// DoText is Do for what no Request says: the members of the frame behind its id, `"op":"dance","step":1`.
func (c *Conn) DoText(members string) (json.RawMessage, error) {
	answer := make(chan *Frame, 1)
	frame := fmt.Appendf(nil, `{"id":%d`, c.ask(question{answer: answer}))
	if members != "" {
		frame = append(append(frame, ','), members...)
	}
	return c.await(append(frame, '}'), answer)
}

// SendRaw writes a frame as it is, websocket.TextMessage or websocket.BinaryMessage.
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

// Done is closed when the connection has ended and Heard will not be called any more.
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

// Close ends the connection without a word and waits for the reading goroutine.
func (c *Conn) Close() {
	_ = c.socket.Close()
	<-c.done
}

// ask notes an op under the next id.
func (c *Conn) ask(q question) (id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	q.request.ID = c.lastID
	c.asked[c.lastID] = q
	return c.lastID
}

// await sends the frame and waits for its answer.
func (c *Conn) await(frame []byte, answer <-chan *Frame) (json.RawMessage, error) {
	if c.SendRaw(websocket.TextMessage, frame) != nil {
		return nil, ErrGone
	}
	silent := time.NewTimer(patience)
	defer silent.Stop()
	select {
	case f := <-answer:
		return f.result()
	case <-silent.C:
		return nil, ErrSilent
	case <-c.done:
	}
	select {
	case f := <-answer: // it came last of all
		return f.result()
	default:
		return nil, ErrGone
	}
}

// result keeps a nil *app.Error from becoming an error.
func (f *Frame) result() (json.RawMessage, error) {
	if f.Error != nil {
		return nil, f.Error
	}
	return f.OK, nil
}

// read takes in what comes until the connection ends.
func (c *Conn) read() {
	defer close(c.done)
	defer c.socket.Close()
	if c.silence > 0 {
		pong := c.socket.PingHandler()
		c.socket.SetPingHandler(func(text string) error {
			c.hold()
			return pong(text)
		})
	}
	for {
		c.hold()
		_, text, err := c.socket.ReadMessage()
		if err != nil {
			c.err = fmt.Errorf("read: %w", err)
			return
		}
		f, err := Parse(text)
		if err != nil {
			c.err = err
			return
		}
		c.take(f)
	}
}

// hold begins the silence anew.
func (c *Conn) hold() {
	if c.silence > 0 {
		_ = c.socket.SetReadDeadline(time.Now().Add(c.silence))
	}
}

// take gives a frame to whoever it is for. The cursor moves here, and not where an answer is waited for, so that it never
// goes back behind an event that came after it.
func (c *Conn) take(f *Frame) {
	if event, ok := f.Event.(*OrderEvent); ok {
		c.advance(event.Cursor)
	}
	if f.Ev == "" {
		q := c.answered(f.ID)
		f.Request = q.request
		if q.request.Op == Hello && f.OK != nil {
			var welcome struct{ Cursor string }
			_ = json.Unmarshal(f.OK, &welcome) // whoever waits for it hears what is wrong with it
			c.advance(welcome.Cursor)
		}
		if q.answer != nil {
			q.answer <- f
			return
		}
	}
	if c.heard != nil {
		c.heard(f)
	}
}

func (c *Conn) advance(cursor string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cursor = cursor
}

func (c *Conn) answered(id int64) question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.asked[id]
	delete(c.asked, id)
	return q
}
