package realtime

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

// client is one connection. Its life:
//
//	serve (socket.go) ─ hello ─ ops and news … ─ depart (by anyone) or the peer leaves ─ release
//
// The reading goroutine is serve's own. Writing is done by drain, of which at most one runs at a time. Fields
// below mu are guarded by it; it is never held over I/O.
type client struct {
	hub     *Hub
	conn    *websocket.Conn // the inner connection: the web framework's wrapper is pooled and given to others
	session string
	addr    netip.Addr   // of the peer, as the web server knows it
	run     func()       // drain as a value, so that starting it allocates nothing
	aliveAt atomic.Int64 // when the peer last gave a sign of life, nanoseconds since the hub began

	turn sync.Mutex // held from when an op begins until it is finished, perhaps by another goroutine

	// Used by the reading goroutine alone.
	pace       bucket
	unreadable strikes
	watching   watching
	helloBy    time.Time // until then a hello must succeed

	mu       sync.Mutex
	out      outbox
	writing  bool // a drain is running
	gone     bool // nothing is accepted any more
	greeted  bool // hello was answered
	identity app.Identity
	hearing  *hearing // nil for nearly all, see there

	writers sync.WaitGroup // the running drain

	// Used by the keeper alone.
	pingedAt time.Duration // since the hub began
	revoked  bool          // its token was, when the keeper last looked

	// Guarded by the hub's setsMu and the set's lock, see watchset.go.
	set     *watchSet
	index   int   // among the set's members
	wholeAt int64 // the tick that is to be the whole set for this client
}

func newClient(h *Hub, conn *websocket.Conn, addr netip.Addr) *client {
	c := &client{hub: h, conn: conn, session: newSession(), addr: addr}
	c.run = c.drain
	c.pace = newBucket(h.options.OpsPerSecond, h.options.OpsBurst, time.Now())
	c.aliveAt.Store(int64(h.elapsed()))
	return c
}

// send queues a frame that must not be lost. A client whose box is full is told to go.
func (c *client) send(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendLocked(frame)
}

func (c *client) sendLocked(frame []byte) {
	if c.gone || c.out.closing != 0 {
		return
	}
	if !c.out.push(frame) {
		c.departLocked(CloseSlow, retryLatest)
		return
	}
	c.kick()
}

// offerNews gives the newest word on a subject.
func (c *client) offerNews(subject string, frame *websocket.PreparedMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.out.closing != 0 || !c.greeted {
		return
	}
	if !c.out.putNews(subject, frame) {
		c.departLocked(CloseSlow, retryLatest)
		return
	}
	c.kick()
}

// offerTick gives the newest tick; whole asks for the whole watch set. It never waits and never allocates.
func (c *client) offerTick(t *tick, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.out.closing != 0 {
		return
	}
	if c.out.putTick(t, whole) {
		c.hub.metrics.skipped.Inc()
	}
	c.kick()
}

// offerPing asks the peer for a sign of life.
func (c *client) offerPing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.out.ping = true
		c.kick()
	}
}

// offerPong answers the peer's ping; of several the last one counts.
func (c *client) offerPong(payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.out.pong, c.out.hasPong = []byte(payload), true
		c.kick()
	}
}

// dropTick forgets a waiting tick of a watch set that the client has left.
func (c *client) dropTick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.dropTick()
}

// depart ends the connection with a reason, after what is queued. The first reason counts.
func (c *client) depart(code CloseCode) { c.departWithin(code, retryLatest) }

// departWithin is depart with the latest instant at which the client should come back.
func (c *client) departWithin(code CloseCode, latest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.departLocked(code, latest)
}

// departAnswered is departWithin once no op is under way. It does not wait: a goroutine does, no longer
// than an op may take.
func (c *client) departAnswered(code CloseCode, latest time.Duration) {
	depart := func() {
		defer c.turn.Unlock()
		c.departWithin(code, latest)
	}
	if c.turn.TryLock() {
		depart()
		return
	}
	go func() {
		c.turn.Lock()
		depart()
	}()
}

func (c *client) departLocked(code CloseCode, latest time.Duration) {
	if c.gone || c.out.closing != 0 {
		return
	}
	c.hub.metrics.closed.WithLabelValues(code.String()).Inc()
	c.out.closing, c.out.retry = code, code.retryAfter(latest)
	if code == CloseSlow || code == CloseBlocked {
		c.out.queue, c.out.queuedBytes = nil, 0 // it had its chance, or is to go; its rows have the personal events
	}
	// What is queued and the last word may take as long as a write may; the peer then has a moment to answer.
	_ = c.conn.SetReadDeadline(time.Now().Add(2 * c.hub.options.WriteWithin))
	c.kick()
}

// leaving reports whether the connection is being ended by us.
func (c *client) leaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.closing != 0
}

// alive notes a sign of life and answers when it came. Whoever gives none for too long is given up by the keeper: a
// deadline that every frame moves would cost more than decoding the frame.
func (c *client) alive() time.Time {
	now := time.Now()
	c.aliveAt.Store(int64(now.Sub(c.hub.began)))
	return now
}

// kick starts the writer unless it runs. Callers hold mu.
func (c *client) kick() {
	if c.writing || c.gone {
		return
	}
	c.writing = true
	c.writers.Add(1)
	c.hub.starting.Add(1)
	go c.run()
}

// drain writes until nothing is left to write.
func (c *client) drain() {
	defer c.writers.Done()
	c.hub.starting.Add(-1)
	for {
		c.mu.Lock()
		next, ok := c.out.next()
		c.writing = ok
		c.mu.Unlock()
		if !ok {
			return
		}
		if err := c.write(next); err != nil {
			c.broken(err)
			return
		}
	}
}

func (c *client) write(p outgoing) error {
	deadline := time.Now().Add(c.hub.options.WriteWithin)
	_ = c.conn.SetWriteDeadline(deadline)
	c.hub.metrics.frames.Inc()
	switch {
	case p.goodbye != 0:
		return c.sayGoodbye(p.goodbye, p.retry, deadline)
	case p.control != 0:
		return c.conn.WriteControl(p.control, p.frame, deadline)
	case p.tick != nil:
		return c.conn.WritePreparedMessage(p.tick.frame(p.whole))
	case p.shared != nil:
		return c.conn.WritePreparedMessage(p.shared)
	default:
		return c.conn.WriteMessage(websocket.TextMessage, p.frame)
	}
}

// sayGoodbye writes the last words and leaves the peer a moment for its own close frame.
func (c *client) sayGoodbye(code CloseCode, retry time.Duration, deadline time.Time) error {
	bye := encode(byeEvent{"bye", code, retry.Milliseconds()})
	if err := c.conn.WriteMessage(websocket.TextMessage, bye); err != nil {
		return err
	}
	reason := websocket.FormatCloseMessage(int(code), code.String())
	if err := c.conn.WriteControl(websocket.CloseMessage, reason, deadline); err != nil {
		return err
	}
	return c.conn.SetReadDeadline(time.Now().Add(partingWait))
}

// partingWait is how long the peer has to answer a close frame before the connection is cut.
const partingWait = time.Second

// broken gives up a connection that cannot be written to; that ends its reader as well.
func (c *client) broken(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone, c.writing = true, false
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() && c.out.closing == 0 {
		c.out.closing = CloseSlow
		c.hub.metrics.closed.WithLabelValues(CloseSlow.String()).Inc()
	}
	_ = c.conn.Close()
}

// release ends the client for good: when it returns, nobody writes and the connection is closed.
func (c *client) release() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.writers.Wait() // ends within the write deadline
	_ = c.conn.Close()
}

// user answers whose connection it is and until when; 0 for nobody.
func (c *client) user() (app.ID, app.Millis) {
	who := c.who()
	return who.User, who.Expires
}

// who is what the token said that was shown last.
func (c *client) who() app.Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity
}
