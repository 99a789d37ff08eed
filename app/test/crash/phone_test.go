//go:build crashpoints

package crash

import (
	"errors"
	"sync"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit/asyncapi"
	"stampede/app/wsclient"
	"stampede/realtime"
)

// described is what asyncapi.yaml says of the frames, read once.
var described = sync.OnceValues(func() (asyncapi.Messages, error) { return asyncapi.Read(realtime.AsyncAPI) })

// phone is one device of a buyer. It keeps its cursor from socket to socket, as a page does.
type phone struct {
	who    *buyer
	number int

	mu   sync.Mutex
	line *wsclient.Conn // the newest socket, open or not; nil before the first one
	told bool           // an event has reached it, ever
	at   string         // the address of that socket's node
	bye  time.Time      // when its node has asked it to come again, elsewhere; zero once it has
	back time.Time      // when it may
}

// connect opens a socket to a node unless one is open, says hello, and takes in what was missed.
func (p *phone) connect(addr string) error {
	old := p.socket()
	cursor := ""
	if old != nil {
		switch err := old.Err(); {
		case err == nil:
			return nil
		case errors.Is(err, wsclient.ErrFrame):
			p.who.world.t.Error(err)
		}
		cursor = old.Cursor()
	}
	site := "http://" + addr
	messages, err := described()
	if err != nil {
		return err
	}
	dialer := wsclient.Dialer{Origin: site, Heard: p.heard, Seen: messages.Seen(p.who.world.t)}
	s, err := dialer.Dial(p.who.world.t.Context(), site)
	if err != nil {
		return err
	}
	if err := p.greet(s, cursor); err != nil {
		s.Close()
		return err
	}
	p.mu.Lock()
	if p.number == 0 && !p.bye.IsZero() {
		p.who.world.away.add(time.Since(p.bye))
	}
	p.at, p.bye, p.back = addr, time.Time{}, time.Time{}
	p.mu.Unlock()
	return nil
}

// greet says hello. Once it is answered, the cursor of the socket is the phone's.
func (p *phone) greet(s *wsclient.Conn, cursor string) error {
	welcome, err := s.Hello(p.who.token, cursor)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.line = s
	p.mu.Unlock()
	for i := range welcome.Missed {
		p.learn(&welcome.Missed[i].Order, ByMissed, welcome.Missed[i].Cursor)
	}
	if !welcome.Reset {
		return nil
	}
	p.who.world.memory.reset(Reset{User: p.who.id, Device: p.number})
	return p.readOrders(s)
}

// readOrders is what a page does after a reset.
func (p *phone) readOrders(s *wsclient.Conn) error {
	for before := shop.ID(0); ; {
		page, err := s.Orders(before)
		if err != nil {
			return err
		}
		for i := range page.Orders {
			p.learn(&page.Orders[i], ByOrders, "")
			before = page.Orders[i].ID
		}
		if !page.More {
			return nil
		}
	}
}

// heard takes an event of the open socket.
func (p *phone) heard(f *wsclient.Frame) {
	switch e := f.Event.(type) {
	case *wsclient.OrderEvent:
		p.learn(&e.Order, ByEvent, e.Cursor)
	case *wsclient.ByeEvent:
		p.mu.Lock()
		p.bye = time.Now()
		p.back = p.bye.Add(time.Duration(e.RetryMS) * time.Millisecond)
		p.mu.Unlock()
	}
}

func (p *phone) learn(o *shop.Order, via Via, cursor string) {
	if via != ByOrders {
		p.mu.Lock()
		p.told = true
		p.mu.Unlock()
	}
	p.who.world.memory.heard(Heard{
		User: p.who.id, Device: p.number, Order: o.ID, State: o.State, Rev: o.Rev, Via: via, Cursor: cursor,
	})
}

func (p *phone) socket() *wsclient.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}

func (p *phone) close() {
	if s := p.socket(); s != nil {
		s.Close()
	}
}

// seen says up to where the owner has looked.
func (p *phone) seen() {
	s := p.socket()
	if s == nil {
		return
	}
	cursor := s.Cursor()
	err := s.Seen(cursor)
	if code := wsclient.CodeOf(err); code != "" && code != shop.RateLimited && code != shop.Busy {
		p.who.world.t.Errorf("seen %q: %v", cursor, err)
	}
}
