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

// client is one connection. mu guards the fields from `out` to `state` and is never held during I/O. The goroutine of
// serve reads frames; writeQueued writes them, in at most one goroutine at a time.
//
//	serve (socket.go) ─ hello ─ ops and events ─ startClose or closeBroken ─ release
type client struct {
	hub     *Hub
	conn    *websocket.Conn // inner connection: the framework pools and reuses its wrapper
	session string
	addr    netip.Addr   // address of the peer, as the web server reports it
	run     func()       // writeQueued as a method value, so that its start allocates no memory
	aliveAt atomic.Int64 // last frame or pong from the peer, nanoseconds since connections.began

	opMu sync.Mutex // held while an op runs; the goroutine that unlocks it may be another one

	// Used only by the reading goroutine.
	pace             bucket
	unreadableFrames errorCount
	watching         watching
	helloDeadline    time.Time // deadline for a successful hello

	mu       sync.Mutex
	out      outbox
	writing  bool // writeQueued is running
	gone     bool // the connection accepts no more frames
	greeted  bool // the reply to hello is queued
	identity shop.Identity
	state    *personalState // nil for most connections

	writers sync.WaitGroup // counts the running writeQueued

	// Used only by checkClientsOnce.
	pingedAt time.Duration // last ping, since connections.began
	revoked  bool          // the token was revoked at the last check

	// Guarded by the mutex of watchSets and the mutex of the set, see watchset.go.
	set     *watchSet
	index   int   // in set.members
	wholeAt int64 // number of the tick that carries the whole set for this client
}

func newClient(h *Hub, conn *websocket.Conn, addr netip.Addr) *client {
	c := &client{hub: h, conn: conn, session: newSession(), addr: addr}
	c.run = c.writeQueued
	c.pace = newBucket(h.options.OpsPerSecond, h.options.OpsBurst, time.Now())
	c.aliveAt.Store(int64(h.elapsed()))
	return c
}

// send queues a frame that must not be dropped. If the outbox is full, it closes the connection.
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
		c.startCloseLocked(CloseSlow, maxRetryDelay)
		return
	}
	c.startWriter()
}

// offerHint queues a hint. It replaces a queued hint of the same subject.
func (c *client) offerHint(subject string, frame *websocket.PreparedMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.out.closing != 0 || !c.greeted {
		return
	}
	if !c.out.putHint(subject, frame) {
		c.startCloseLocked(CloseSlow, maxRetryDelay)
		return
	}
	c.startWriter()
}

// offerTick queues a tick and replaces the queued one. If whole is true, the client receives the whole watch set.
// offerTick never blocks and never allocates memory.
func (c *client) offerTick(t *tick, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.out.closing != 0 {
		return
	}
	if c.out.putTick(t, whole) {
		c.hub.metrics.skipped.Inc()
	}
	c.startWriter()
}

func (c *client) offerPing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.out.ping = true
		c.startWriter()
	}
}

// offerPong queues a pong with the payload of a ping. The newest ping wins.
func (c *client) offerPong(payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.out.pong, c.out.hasPong = []byte(payload), true
		c.startWriter()
	}
}

// dropTick drops the queued tick of a watch set that the client has left.
func (c *client) dropTick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.dropTick()
}

// startClose closes the connection after the queued frames; CloseSlow and CloseBlocked drop these. Only the first code
// counts.
func (c *client) startClose(code CloseCode) { c.startCloseWithDelay(code, maxRetryDelay) }

// startCloseWithDelay is startClose with the given maximum of the reconnect delay.
func (c *client) startCloseWithDelay(code CloseCode, maxDelay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startCloseLocked(code, maxDelay)
}

// startCloseAfterOp calls startCloseWithDelay after the running op has finished. It does not block.
func (c *client) startCloseAfterOp(code CloseCode, maxDelay time.Duration) {
	closeNow := func() {
		defer c.opMu.Unlock()
		c.startCloseWithDelay(code, maxDelay)
	}
	if c.opMu.TryLock() {
		closeNow()
		return
	}
	go func() {
		c.opMu.Lock()
		closeNow()
	}()
}

func (c *client) startCloseLocked(code CloseCode, maxDelay time.Duration) {
	if c.gone || c.out.closing != 0 {
		return
	}
	c.hub.metrics.closed.WithLabelValues(code.String()).Inc()
	c.out.closing, c.out.retry = code, code.retryAfter(maxDelay)
	if code == CloseSlow || code == CloseBlocked {
		c.out.queue, c.out.queuedBytes = nil, 0 // the next hello reads the dropped personal events from the rows
	}
	// Until sendClose sets the final deadline: one write timeout for the queue, one for `bye` and the close frame.
	_ = c.conn.SetReadDeadline(time.Now().Add(2 * c.hub.options.WriteWithin))
	c.startWriter()
}

// isClosing reports whether the server is closing the connection.
func (c *client) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.closing != 0
}

// markAlive records and returns the time of a frame from the peer. checkClientsOnce detects silence: setting a read
// deadline for each frame would cost more than decoding the frame.
func (c *client) markAlive() time.Time {
	now := time.Now()
	c.aliveAt.Store(int64(now.Sub(c.hub.began)))
	return now
}

// startWriter starts the writer unless it runs already. The caller holds mu.
func (c *client) startWriter() {
	if c.writing || c.gone {
		return
	}
	c.writing = true
	c.writers.Add(1)
	c.hub.starting.Add(1)
	go c.run()
}

// writeQueued writes frames until the outbox is empty.
func (c *client) writeQueued() {
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
			c.closeBroken(err)
			return
		}
	}
}

func (c *client) write(p outgoing) error {
	deadline := time.Now().Add(c.hub.options.WriteWithin)
	_ = c.conn.SetWriteDeadline(deadline)
	c.hub.metrics.frames.Inc()
	switch {
	case p.closeCode != 0:
		return c.sendClose(p.closeCode, p.retry, deadline)
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

// sendClose writes `bye` and the close frame, then sets the deadline for the close frame of the peer.
func (c *client) sendClose(code CloseCode, retry time.Duration, deadline time.Time) error {
	bye := encode(byeEvent{"bye", code, retry.Milliseconds()})
	if err := c.conn.WriteMessage(websocket.TextMessage, bye); err != nil {
		return err
	}
	reason := websocket.FormatCloseMessage(int(code), code.String())
	if err := c.conn.WriteControl(websocket.CloseMessage, reason, deadline); err != nil {
		return err
	}
	return c.conn.SetReadDeadline(time.Now().Add(closeFrameTimeout))
}

// closeFrameTimeout is the time limit for the close frame of the peer.
const closeFrameTimeout = time.Second

// closeBroken closes a connection after a failed write. This also ends its reader.
func (c *client) closeBroken(err error) {
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

// release waits for the writer and closes the connection.
func (c *client) release() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.writers.Wait() // at most the write deadline
	_ = c.conn.Close()
}

// currentIdentity returns the identity of the last token; User is 0 without a token.
func (c *client) currentIdentity() shop.Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity
}

// maxStarting limits the started writers that wait for a processor while many clients are notified.
const maxStarting = 256

// tooManyStarting reports whether the caller must wait before it starts more writers. The stacks of many thousands of
// writers would need as much memory as their sockets.
func (cs *connections) tooManyStarting() bool { return cs.starting.Load() > maxStarting }

// waitForWriters blocks until the number of waiting writers is at most maxStarting. It waits only for processors, not
// for clients.
func (cs *connections) waitForWriters() {
	for cs.tooManyStarting() {
		runtime.Gosched()
	}
}
