package load

import (
	"context"
	"fmt"
	"time"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// connectPatience is how long the crowd may take to come in.
const connectPatience = 2 * time.Minute

// connecting opens sockets, says hello with the token (and the cursor of an earlier visit), and watches what is asked
// for. A few are under way at a time, as many as a listener's backlog bears.
type connecting struct {
	target *target
	watch  []byte // the op; nil: nothing is watched
	most   int    // connections under way
	queue  []*socket
	open   int
	until  time.Time

	handshakes histogram
	turnedAway int             // by a busy server, and came again
	resets     int             // hellos that were told reset
	missed     map[*socket]int // events told by hello
}

// The ids of the ops that a shopper begins with.
const (
	helloID = 1
	watchID = 2
)

// connect brings in the sockets and waits until all were greeted.
func (c *crowd) connect(ctx context.Context, all []*socket, watch []shop.ID, most int) ([]*connecting, error) {
	var op []byte
	if len(watch) > 0 {
		op = wsclient.Request{ID: watchID, Op: wsclient.Watch, Sales: watch}.Encode()
	}
	parts := make([]*connecting, len(c.loops))
	for i := range parts {
		parts[i] = &connecting{
			target: c.target, watch: op, most: max(1, most/len(c.loops)),
			until: time.Now().Add(connectPatience), missed: make(map[*socket]int),
		}
	}
	for _, s := range all {
		p := parts[s.index%len(c.loops)]
		p.queue = append(p.queue, s)
	}
	return parts, play(ctx, c, parts)
}

func (p *connecting) act(l *loop) (time.Duration, bool) {
	p.comeAgain(l)
	for len(p.queue) > 0 && p.open < p.most {
		s := p.queue[0]
		p.queue = p.queue[1:]
		p.open++
		s.sentAt = l.now()
		if err := l.connect(s, p.target, p.greeting(s)...); err != nil {
			l.failed = fmt.Errorf("connect shopper %d: %w", s.index, err)
			return 0, true
		}
	}
	if time.Now().After(p.until) {
		l.failed = fmt.Errorf("%d connections were not greeted within %v", p.open+len(p.queue), connectPatience)
	}
	return time.Second, p.open == 0 && len(p.queue) == 0
}

// greeting is hello, and watch if there is something to watch.
func (p *connecting) greeting(s *socket) [][]byte {
	s.nextID = watchID
	ops := [][]byte{wsclient.Request{ID: helloID, Op: wsclient.Hello, Token: s.token, Cursor: s.cursor}.Encode()}
	if p.watch != nil {
		ops = append(ops, p.watch)
	}
	return ops
}

func (p *connecting) heard(l *loop, s *socket, m message) {
	switch {
	case m.kind == refused:
		p.refused(l, s, m)
		return
	case m.kind != replied:
		return
	case m.id == helloID:
		p.welcomed(s, m)
	}
	if s.awaiting == 0 {
		s.coming = false
		p.open--
		p.handshakes.record(l.now() - s.sentAt)
	}
}

// comeAgain sends those once more whom the server cut off before it had greeted them: a busy one gives up a connection
// that waits for hello for five seconds.
func (p *connecting) comeAgain(l *loop) {
	if len(l.losses) == 0 {
		return
	}
	lost := 0
	for _, n := range l.losses {
		lost += n
	}
	for _, s := range l.sockets {
		if s.coming && s.fd < 0 {
			p.again(s)
			lost--
		}
	}
	if lost == 0 {
		clear(l.losses) // else somebody was cut off who was in already, and that is a complaint
	}
}

// refused lets a shopper come again whom a busy server turned away, as the protocol asks for. Any other refusal ends
// the run.
func (p *connecting) refused(l *loop, s *socket, m message) {
	const busy = string(shop.Busy)
	if code := m.word(`"code":"`); string(code) != busy {
		l.failed = fmt.Errorf("shopper %d was refused: %s", s.index, code)
		return
	}
	l.forgive(busy)
	l.drop(s)
	p.again(s)
}

// again puts a shopper who was turned away at the end of the queue.
func (p *connecting) again(s *socket) {
	s.coming = false
	p.open--
	p.queue = append(p.queue, s)
	p.turnedAway++
}

// welcomed reads the reply to hello: a cursor and the missed orders. It searches the text, because decoding a
// wsclient.Welcome would dominate the generator's work when thousands return at once.
func (p *connecting) welcomed(s *socket, m message) {
	for rest := m; ; p.missed[s]++ {
		rest = message{text: rest.after(`{"ev":"order"`)}
		if rest.text == nil {
			break
		}
		s.learn(rest.order(), len(s.known))
	}
	if m.after(`"reset":true`) != nil {
		p.resets++
	}
	// The cursor of the whole answer comes before the missed events, which have cursors of their own.
	s.cursor = string(m.word(`"cursor":"`))
}
