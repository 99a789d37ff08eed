package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

var (
	errPeerClosed = errors.New("the server closed the connection")
	errNotTaken   = errors.New("the server does not take what is sent")
)

// socket is one shopper's connection. It belongs to one loop and is touched by nobody else.
type socket struct {
	fd      int // -1: not connected
	index   int // among the whole crowd
	user    shop.ID
	token   string
	cursor  string // of the last personal event or hello
	nextID  int64
	partial []byte // the beginning of a frame whose end has not come yet

	upgraded bool
	coming   bool // not all of the greeting was answered yet

	// What the phases count.
	sentAt   time.Duration // when the newest op was sent, or was due
	awaiting int           // ops without a reply
	bought   int           // buys sent
	reserved int           // buys answered with reserved
	orders   int           // that it has heard of
	known    []int64       // those orders, as they came
	last     []byte        // the newest op, to be repeated should the server be busy
}

// recent is the number of last orders among which a repeated event is looked for: a redelivery comes soon. Orders in
// the reply to hello are looked for among all.
const recent = 8

// learn counts an order that it has not heard of before. Clients know a repeat by order and rev; all orders here stay
// in their first state.
func (s *socket) learn(order int64, among int) (fresh bool) {
	if slices.Contains(s.known[max(0, len(s.known)-among):], order) {
		return false
	}
	s.known = append(s.known, order)
	s.orders++
	return true
}

// send sends an op that is built in the loop's scratch buffer.
func (s *socket) send(l *loop, op []byte) {
	s.last = append(s.last[:0], op...)
	s.again(l)
}

// again sends the newest op once more, unchanged: it is the same op (I6).
func (s *socket) again(l *loop) {
	l.scratch = wsclient.AppendFrame(l.scratch[:0], wsclient.Text, s.last)
	if err := writeTo(s.fd, l.scratch); err != nil {
		l.lose(s, err)
		return
	}
	s.awaiting++
}

// phase is what a loop does for a while with its sockets. All calls come from the loop's goroutine.
type phase interface {
	// heard takes in a frame of the server.
	heard(l *loop, s *socket, m message)
	// act sends what is due and answers how long to wait for something to come, or that all is done.
	act(l *loop) (wait time.Duration, done bool)
}

// breath is the pause of a loop that has read everything. Waking a waiting loop would cost the server an eighth of each
// write. Latencies are up to a breath too long.
const breath = time.Millisecond

// loop looks after a share of the crowd.
type loop struct {
	poller  *poller
	began   time.Time // the instant that all times of a run count from
	sockets []*socket
	byFD    map[int]*socket
	phase   phase
	buffer  []byte
	scratch []byte
	op      []byte

	refusals map[string]int // by error code
	losses   map[string]int // connections lost, by reason
	failed   error
}

func newLoop(began time.Time) (*loop, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &loop{
		poller: p, began: began, byFD: make(map[int]*socket), buffer: make([]byte, 256<<10),
		refusals: make(map[string]int), losses: make(map[string]int),
	}, nil
}

// now is the time since the run began.
func (l *loop) now() time.Duration { return time.Since(l.began) }

// run plays a phase to its end, or until ctx ends.
func (l *loop) run(ctx context.Context, p phase) error {
	l.phase = p
	for ctx.Err() == nil && l.failed == nil {
		wait, done := p.act(l)
		if done {
			return nil
		}
		if wait > breath && !l.poller.more {
			time.Sleep(breath)
			wait -= breath
		}
		if err := l.poller.wait(min(max(wait, 0), 100*time.Millisecond), l.readable); err != nil {
			return err
		}
	}
	return errors.Join(l.failed, ctx.Err())
}

// connect opens the socket and asks for the upgrade together with the first ops, as the protocol allows.
func (l *loop) connect(s *socket, to *target, ops ...[]byte) error {
	fd, err := dialFrom(to.source(s.index), to.address)
	if err != nil {
		return err
	}
	s.fd, s.upgraded, s.coming, s.partial, s.awaiting = fd, false, true, nil, len(ops)
	packet := append([]byte(nil), to.handshake...)
	for _, op := range ops {
		packet = wsclient.AppendFrame(packet, wsclient.Text, op)
	}
	if err := writeTo(fd, packet); err != nil {
		closeSocket(fd)
		s.fd = -1
		return err
	}
	l.byFD[fd] = s
	return l.poller.add(fd)
}

// drop cuts the connection from our side.
func (l *loop) drop(s *socket) {
	if s.fd < 0 {
		return
	}
	delete(l.byFD, s.fd)
	closeSocket(s.fd)
	s.fd, s.partial = -1, nil
}

// lose notes a connection that ended although nobody here wanted that.
func (l *loop) lose(s *socket, why error) {
	if s.fd >= 0 {
		l.losses[why.Error()]++
		l.drop(s)
	}
}

// readable takes in what has come on a socket.
func (l *loop) readable(fd int) {
	s := l.byFD[fd]
	if s == nil {
		return // dropped by what came just before
	}
	if len(s.partial) > len(l.buffer)/2 {
		l.buffer = make([]byte, 2*len(l.buffer))
	}
	kept := copy(l.buffer, s.partial)
	n, err := readFrom(fd, l.buffer[kept:])
	var rest []byte
	if err == nil {
		rest, err = l.take(s, l.buffer[:kept+n])
	}
	if err != nil {
		l.lose(s, err)
		return
	}
	s.partial = append(s.partial[:0], rest...)
	if len(rest) == 0 {
		s.partial = nil
	}
}

// take handles whole frames and answers what is left over.
func (l *loop) take(s *socket, b []byte) ([]byte, error) {
	if !s.upgraded {
		rest, ok, err := wsclient.CutHandshake(b)
		if !ok || err != nil {
			return b, err
		}
		s.upgraded, b = true, rest
	}
	for s.fd >= 0 {
		opcode, payload, rest, ok, err := wsclient.CutFrame(b)
		if err != nil || !ok {
			return b, err
		}
		b = rest
		switch opcode {
		case wsclient.Text:
			l.hear(s, read(payload))
		case wsclient.Ping:
			l.scratch = wsclient.AppendFrame(l.scratch[:0], wsclient.Pong, payload)
			if err := writeTo(s.fd, l.scratch); err != nil {
				return nil, err
			}
		case wsclient.Close:
			code := 0
			if len(payload) >= 2 {
				code = int(payload[0])<<8 | int(payload[1])
			}
			return nil, fmt.Errorf("closed with code %d", code)
		}
	}
	return nil, nil
}

// hear counts what concerns every phase, and passes the frame on.
func (l *loop) hear(s *socket, m message) {
	switch m.kind {
	case replied, refused:
		s.awaiting--
		if m.kind == refused {
			l.refusals[string(m.word(`"code":"`))]++
		} else if m.accepted() {
			s.reserved++
		}
	case ordered:
		s.learn(m.order(), recent)
		s.cursor = string(m.word(`"cursor":"`))
	}
	l.phase.heard(l, s, m)
}

// forgive takes back one refusal that is no complaint.
func (l *loop) forgive(code string) {
	if l.refusals[code]--; l.refusals[code] == 0 {
		delete(l.refusals, code)
	}
}

// sendTime asks for the server's clock.
func (l *loop) sendTime(s *socket, at time.Duration) {
	s.nextID++
	s.sentAt = at
	l.op = appendTime(l.op[:0], s.nextID, at)
	s.send(l, l.op)
}

// sendBuy buys one unit.
func (l *loop) sendBuy(s *socket, sale string, at time.Duration) {
	s.nextID++
	s.sentAt = at
	l.op = appendBuy(l.op[:0], s.nextID, sale, at, s.bought)
	s.bought++
	s.send(l, l.op)
}

// buysOf buys one unit of a sale.
func buysOf(sale string) func(l *loop, s *socket, at time.Duration) {
	return func(l *loop, s *socket, at time.Duration) { l.sendBuy(s, sale, at) }
}

// dueAt is the instant that the key of an order event carries.
func dueAt(m message) time.Duration {
	at, _ := number(m.after(`"key":"load-`))
	return time.Duration(at)
}
