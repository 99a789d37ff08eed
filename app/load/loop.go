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
	errPeerClosed     = errors.New("the server closed the connection")
	errSendBufferFull = errors.New("the server does not read the sent frames")
)

// socket is one shopper's connection. Only its loop accesses it.
type socket struct {
	fd      int // -1: not connected
	index   int // in the whole crowd
	user    shop.ID
	token   string
	cursor  string // cursor of the last personal event or hello
	nextID  int64
	partial []byte // the start of an incomplete frame

	upgraded        bool
	firstOpsPending bool // some replies to the first ops are pending

	// Counters and times of the phases.
	sentAt     time.Duration // time at which the newest op was sent, or was due
	pendingOps int           // ops without a reply
	bought     int           // buys sent
	reserved   int           // buys whose reply has the state `reserved`
	orders     int           // distinct orders received in events and hello replies
	orderIDs   []int64       // ids of these orders, in order of arrival
	last       []byte        // the newest op, repeated if the server is busy
}

// recentOrders is the number of last orders that are searched for a repeated event. A redelivery arrives soon after the
// first delivery. Orders in the reply to hello are compared with all orders.
const recentOrders = 8

func (s *socket) addOrder(order int64, lastN int) (isNew bool) {
	// Clients detect repeats by order and rev. Here the order id suffices, because all orders stay in their first
	// state.
	if slices.Contains(s.orderIDs[max(0, len(s.orderIDs)-lastN):], order) {
		return false
	}
	s.orderIDs = append(s.orderIDs, order)
	s.orders++
	return true
}

// send sends an op and keeps it for a repeat. It builds the frame in the loop's scratch buffer.
func (s *socket) send(l *loop, op []byte) {
	s.last = append(s.last[:0], op...)
	s.resend(l)
}

// resend repeats the newest op unchanged (I6).
func (s *socket) resend(l *loop) {
	l.scratch = wsclient.AppendFrame(l.scratch[:0], wsclient.Text, s.last)
	if err := writeTo(s.fd, l.scratch); err != nil {
		l.lose(s, err)
		return
	}
	s.pendingOps++
}

// phase is the behaviour of a loop's sockets for some time. All calls come from the loop's goroutine.
type phase interface {
	onFrame(l *loop, s *socket, m message)
	// step sends all due ops. It returns the maximum wait for frames, and whether the phase is done.
	step(l *loop) (wait time.Duration, done bool)
}

// idlePause is the pause of a loop that has read all data. Without the pause, the server would spend an
// eighth of the time of each write on waking the loop. Measured latencies are up to one idlePause too long.
const idlePause = time.Millisecond

// loop runs a share of the crowd on one goroutine.
type loop struct {
	poller  *poller
	began   time.Time // all times of a run are relative to this
	sockets []*socket
	byFD    map[int]*socket
	phase   phase
	buffer  []byte
	scratch []byte
	op      []byte

	refusals map[string]int // number of refused ops by error code
	losses   map[string]int // number of lost connections by reason
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

// now returns the time since the run began.
func (l *loop) now() time.Duration { return time.Since(l.began) }

// run runs a phase to its end, or until ctx ends.
func (l *loop) run(ctx context.Context, p phase) error {
	l.phase = p
	for ctx.Err() == nil && l.failed == nil {
		wait, done := p.step(l)
		if done {
			return nil
		}
		if wait > idlePause && !l.poller.more {
			time.Sleep(idlePause)
			wait -= idlePause
		}
		if err := l.poller.wait(min(max(wait, 0), 100*time.Millisecond), l.readable); err != nil {
			return err
		}
	}
	return errors.Join(l.failed, ctx.Err())
}

// connect opens the socket and sends the upgrade request together with the first ops, as the protocol allows.
func (l *loop) connect(s *socket, to *target, ops ...[]byte) error {
	fd, err := dialFrom(to.source(s.index), to.address)
	if err != nil {
		return err
	}
	s.fd, s.upgraded, s.firstOpsPending, s.partial, s.pendingOps = fd, false, true, nil, len(ops)
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

// drop closes the connection on purpose.
func (l *loop) drop(s *socket) {
	if s.fd < 0 {
		return
	}
	delete(l.byFD, s.fd)
	closeSocket(s.fd)
	s.fd, s.partial = -1, nil
}

// lose records an unexpected end of a connection.
func (l *loop) lose(s *socket, reason error) {
	if s.fd >= 0 {
		l.losses[reason.Error()]++
		l.drop(s)
	}
}

// readable processes the received data of a socket.
func (l *loop) readable(fd int) {
	s := l.byFD[fd]
	if s == nil {
		return // dropped while an earlier event of the same wait was processed
	}
	if len(s.partial) > len(l.buffer)/2 {
		l.buffer = make([]byte, 2*len(l.buffer))
	}
	kept := copy(l.buffer, s.partial)
	n, err := readFrom(fd, l.buffer[kept:])
	var rest []byte
	if err == nil {
		rest, err = l.processFrames(s, l.buffer[:kept+n])
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

// processFrames processes complete frames and returns the remaining bytes.
func (l *loop) processFrames(s *socket, b []byte) ([]byte, error) {
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
			l.receive(s, parseMessage(payload))
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

func (l *loop) receive(s *socket, m message) {
	switch m.kind {
	case replied, refused:
		s.pendingOps--
		if m.kind == refused {
			l.refusals[string(m.word(`"code":"`))]++
		} else if m.accepted() {
			s.reserved++
		}
	case ordered:
		s.addOrder(m.order(), recentOrders)
		s.cursor = string(m.word(`"cursor":"`))
	}
	l.phase.onFrame(l, s, m)
}

// uncountRefusal removes one refusal from the count: it is not a failure.
func (l *loop) uncountRefusal(code string) {
	if l.refusals[code]--; l.refusals[code] == 0 {
		delete(l.refusals, code)
	}
}

// sendTime sends the time op.
func (l *loop) sendTime(s *socket, at time.Duration) {
	s.nextID++
	s.sentAt = at
	l.op = appendTime(l.op[:0], s.nextID, at)
	s.send(l, l.op)
}

// sendBuy sends a buy of one unit.
func (l *loop) sendBuy(s *socket, sale string, at time.Duration) {
	s.nextID++
	s.sentAt = at
	l.op = appendBuy(l.op[:0], s.nextID, sale, at, s.bought)
	s.bought++
	s.send(l, l.op)
}

// buyOp returns an op that buys one unit of the sale.
func buyOp(sale string) func(l *loop, s *socket, at time.Duration) {
	return func(l *loop, s *socket, at time.Duration) { l.sendBuy(s, sale, at) }
}

// dueTimeOf returns the time at which the buy of an order event was due. The field `key` of the event contains this
// time.
func dueTimeOf(m message) time.Duration {
	at, _ := number(m.after(`"key":"load-`))
	return time.Duration(at)
}
