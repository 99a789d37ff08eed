package realtime

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app/shop"
)

// client is one connection: serve (socket.go) ─ hello ─ ops, news, events ─ depart or the peer leaves ─ release.
// serve reads; drain writes, at most one at a time. mu guards the fields below it and is never held over I/O.
type client struct {
	hub     *Hub
	conn    *websocket.Conn // the inner one: the web framework's wrapper is pooled and reused
	session string
	addr    netip.Addr   // of the peer, as the web server knows it
	run     func()       // drain as a value, so that starting it allocates nothing
	aliveAt atomic.Int64 // when the peer last sent anything, nanoseconds since the hub began

	turn sync.Mutex // held while an op runs; perhaps unlocked by another goroutine

	// Used by the reading goroutine alone.
	pace       bucket
	unreadable strikes
	watching   watching
	helloBy    time.Time // the deadline for a successful hello

	mu       sync.Mutex
	out      outbox
	writing  bool // a drain is running
	gone     bool // nothing is accepted any more
	greeted  bool // hello was answered
	identity shop.Identity
	hearing  *hearing // nil for nearly all

	writers sync.WaitGroup // the running drain

	// Used by the keeper alone.
	pingedAt time.Duration // since the hub began
	revoked  bool          // its token was, at the last check

	// Guarded by the hub's setsMu and the set's lock, see watchset.go.
	set     *watchSet
	index   int   // among the set's members
	wholeAt int64 // the tick with the whole set for this client
}

func newClient(h *Hub, conn *websocket.Conn, addr netip.Addr) *client {
	c := &client{hub: h, conn: conn, session: newSession(), addr: addr}
	c.run = c.drain
	c.pace = newBucket(h.options.OpsPerSecond, h.options.OpsBurst, time.Now())
	c.aliveAt.Store(int64(h.elapsed()))
	return c
}

// send queues a frame that must not be lost. A client whose outbox is full is closed.
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

// offerNews replaces waiting news of the same subject.
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

// offerTick replaces a waiting tick; whole: with the whole watch set. It never waits and never allocates.
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

func (c *client) offerPing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.out.ping = true
		c.kick()
	}
}

// offerPong answers the peer's ping; the last of several counts.
func (c *client) offerPong(payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.out.pong, c.out.hasPong = []byte(payload), true
		c.kick()
	}
}

// dropTick drops the waiting tick of a watch set that the client has left.
func (c *client) dropTick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.dropTick()
}

// depart ends the connection after what is queued. The first reason counts.
func (c *client) depart(code CloseCode) { c.departWithin(code, retryLatest) }

// departWithin is depart with the longest pause before the client reconnects.
func (c *client) departWithin(code CloseCode, latest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.departLocked(code, latest)
}

// departAnswered is departWithin after the running op. It does not wait itself.
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
		c.out.queue, c.out.queuedBytes = nil, 0 // the rows have its personal events
	}
	// The queue and the close frame may take one write timeout; then the peer has time to answer.
	_ = c.conn.SetReadDeadline(time.Now().Add(2 * c.hub.options.WriteWithin))
	c.kick()
}

// leaving reports whether the server is ending the connection.
func (c *client) leaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.closing != 0
}

// alive records and returns the time at which the peer sent something. The keeper detects silence: moving a deadline
// with each frame would cost more than decoding the frame.
func (c *client) alive() time.Time {
	now := time.Now()
	c.aliveAt.Store(int64(now.Sub(c.hub.began)))
	return now
}

// kick starts the writer unless it runs. The caller holds mu.
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

// sayGoodbye writes `bye` and the close frame, and gives the peer time for its own.
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

// broken closes a connection after a failed write; that ends its reader as well.
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

// release returns when nothing writes any more and the connection is closed.
func (c *client) release() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.writers.Wait() // ends within the write deadline
	_ = c.conn.Close()
}

// who returns the identity of the last token; User is 0 without one.
func (c *client) who() shop.Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity
}

// mostStarting is how many writers may wait for a processor while many clients are notified.
const mostStarting = 256

// tooManyStarting reports whether writers should begin before more are started: the stacks of a whole crowd would take
// as much memory as its sockets.
func (h *Hub) tooManyStarting() bool { return h.starting.Load() > mostStarting }

// letWritersBegin waits until few writers have not begun. It waits for processors only, not for clients.
func (h *Hub) letWritersBegin() {
	for h.tooManyStarting() {
		runtime.Gosched()
	}
}
