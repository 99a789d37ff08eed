package load

import (
	"context"
	"fmt"
	"time"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// connectTimeout limits how long the crowd takes to connect.
const connectTimeout = 2 * time.Minute

// connectPhase is the phase that opens sockets, sends the op `hello` with the token and the cursor of the last
// connection, and sends the op `watch`. It limits the number of connections that are opened at the same time, because
// they must fit into the backlog of the listener.
type connectPhase struct {
	target  *target
	watch   []byte // the encoded op; nil: no watch
	maxOpen int    // maximum number of sockets with pending first ops
	queue   []*socket
	open    int
	until   time.Time

	handshakes histogram
	retries    int             // retries after the server was busy
	resets     int             // number of hello replies with the field `reset`
	missed     map[*socket]int // number of order events in the hello reply
}

// The ids of a shopper's first ops.
const (
	helloID = 1
	watchID = 2
)

// connect opens the sockets and waits until each of them has received the replies to hello and watch.
func (c *crowd) connect(ctx context.Context, all []*socket, watch []shop.ID, maxOpen int) ([]*connectPhase, error) {
	var op []byte
	if len(watch) > 0 {
		op = wsclient.Request{ID: watchID, Op: wsclient.Watch, Sales: watch}.Encode()
	}
	parts := make([]*connectPhase, len(c.loops))
	for i := range parts {
		parts[i] = &connectPhase{
			target: c.target, watch: op, maxOpen: max(1, maxOpen/len(c.loops)),
			until: time.Now().Add(connectTimeout), missed: make(map[*socket]int),
		}
	}
	for _, s := range all {
		p := parts[s.index%len(c.loops)]
		p.queue = append(p.queue, s)
	}
	return parts, runPhase(ctx, c, parts)
}

func (p *connectPhase) step(l *loop) (time.Duration, bool) {
	p.retryLost(l)
	for len(p.queue) > 0 && p.open < p.maxOpen {
		s := p.queue[0]
		p.queue = p.queue[1:]
		p.open++
		s.sentAt = l.now()
		if err := l.connect(s, p.target, p.firstOps(s)...); err != nil {
			l.failed = fmt.Errorf("connect shopper %d: %w", s.index, err)
			return 0, true
		}
	}
	if time.Now().After(p.until) {
		l.failed = fmt.Errorf("%d connections got no hello within %v", p.open+len(p.queue), connectTimeout)
	}
	return time.Second, p.open == 0 && len(p.queue) == 0
}

// firstOps returns hello and, if configured, watch.
func (p *connectPhase) firstOps(s *socket) [][]byte {
	s.nextID = watchID
	ops := [][]byte{wsclient.Request{ID: helloID, Op: wsclient.Hello, Token: s.token, Cursor: s.cursor}.Encode()}
	if p.watch != nil {
		ops = append(ops, p.watch)
	}
	return ops
}

func (p *connectPhase) onFrame(l *loop, s *socket, m message) {
	switch {
	case m.kind == refused:
		p.handleRejection(l, s, m)
		return
	case m.kind != replied:
		return
	case m.id == helloID:
		p.onHelloReply(s, m)
	}
	if s.pendingOps == 0 {
		s.firstOpsPending = false
		p.open--
		p.handshakes.record(l.now() - s.sentAt)
	}
}

// retryLost retries the sockets that the server closed before all replies to their first ops. The server closes a
// connection without hello after five seconds, and a busy server may not read hello in that time.
func (p *connectPhase) retryLost(l *loop) {
	if len(l.losses) == 0 {
		return
	}
	lost := 0
	for _, n := range l.losses {
		lost += n
	}
	for _, s := range l.sockets {
		if s.firstOpsPending && s.fd < 0 {
			p.requeue(s)
			lost--
		}
	}
	if lost == 0 {
		clear(l.losses) // otherwise a shopper lost its connection after the first ops, which is a failure
	}
}

// handleRejection retries a shopper if the server is busy, as the protocol requires. Any other error ends the run.
func (p *connectPhase) handleRejection(l *loop, s *socket, m message) {
	const busy = string(shop.Busy)
	if code := m.word(`"code":"`); string(code) != busy {
		l.failed = fmt.Errorf("shopper %d was rejected: %s", s.index, code)
		return
	}
	l.uncountRefusal(busy)
	l.drop(s)
	p.requeue(s)
}

// requeue appends a shopper to the queue for a retry.
func (p *connectPhase) requeue(s *socket) {
	s.firstOpsPending = false
	p.open--
	p.queue = append(p.queue, s)
	p.retries++
}

// onHelloReply reads the reply to hello: a cursor and the missed orders. It searches the text. Decoding of a
// wsclient.Welcome would take most of the generator's time when thousands of shoppers reconnect at the same time.
func (p *connectPhase) onHelloReply(s *socket, m message) {
	for rest := m; ; p.missed[s]++ {
		rest = message{text: rest.after(`{"ev":"order"`)}
		if rest.text == nil {
			break
		}
		s.addOrder(rest.order(), len(s.orderIDs))
	}
	if m.after(`"reset":true`) != nil {
		p.resets++
	}
	// The cursor of the reply comes first; the missed events after it have their own cursors.
	s.cursor = string(m.word(`"cursor":"`))
}
