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

// asyncMessages returns the messages of asyncapi.yaml, parsed once.
var asyncMessages = sync.OnceValues(func() (asyncapi.Messages, error) { return asyncapi.Read(realtime.AsyncAPI) })

// phone is one device of a buyer. It keeps its cursor across sockets, as the page does.
type phone struct {
	buyer  *buyer
	number int

	mu          sync.Mutex
	conn        *wsclient.Conn // the newest socket, open or closed; nil before the first one
	nodeAddr    string         // address of the node of conn
	bye         time.Time      // time of the last bye of the node; zero after the reconnect
	reconnectAt time.Time      // earliest time of the reconnect
}

// connect opens a socket unless one is open, sends hello, and processes the missed events.
func (p *phone) connect(addr string) error {
	old := p.socket()
	cursor := ""
	if old != nil {
		switch err := old.Err(); {
		case err == nil:
			return nil
		case errors.Is(err, wsclient.ErrFrame):
			p.buyer.world.t.Error(err)
		}
		cursor = old.Cursor()
	}
	site := "http://" + addr
	messages, err := asyncMessages()
	if err != nil {
		return err
	}
	dialer := wsclient.Dialer{Origin: site, OnFrame: p.onFrame, Seen: messages.CheckFrames(p.buyer.world.t)}
	s, err := dialer.Dial(p.buyer.world.t.Context(), site)
	if err != nil {
		return err
	}
	if err := p.sendHello(s, cursor); err != nil {
		s.Close()
		return err
	}
	p.mu.Lock()
	if p.number == 0 && !p.bye.IsZero() {
		p.buyer.world.absences.add(time.Since(p.bye))
	}
	p.nodeAddr, p.bye, p.reconnectAt = addr, time.Time{}, time.Time{}
	p.mu.Unlock()
	return nil
}

// sendHello sends hello. After the reply, the socket is the phone's conn.
func (p *phone) sendHello(s *wsclient.Conn, cursor string) error {
	welcome, err := s.Hello(p.buyer.token, cursor)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.conn = s
	p.mu.Unlock()
	for i := range welcome.Missed {
		p.recordState(&welcome.Missed[i].Order, ByMissed, welcome.Missed[i].Cursor)
	}
	if !welcome.Reset {
		return nil
	}
	p.buyer.world.memory.addReset(Reset{User: p.buyer.id, Device: p.number})
	return p.readOrders(s)
}

// readOrders reads all orders, as the page does after a reset.
func (p *phone) readOrders(s *wsclient.Conn) error {
	for before := shop.ID(0); ; {
		page, err := s.Orders(before)
		if err != nil {
			return err
		}
		for i := range page.Orders {
			p.recordState(&page.Orders[i], ByOrders, "")
			before = page.Orders[i].ID
		}
		if !page.More {
			return nil
		}
	}
}

func (p *phone) onFrame(f *wsclient.Frame) {
	switch e := f.Event.(type) {
	case *wsclient.OrderEvent:
		p.recordState(&e.Order, ByEvent, e.Cursor)
	case *wsclient.ByeEvent:
		p.mu.Lock()
		p.bye = time.Now()
		p.reconnectAt = p.bye.Add(time.Duration(e.RetryMS) * time.Millisecond)
		p.mu.Unlock()
	}
}

func (p *phone) recordState(o *shop.Order, via Via, cursor string) {
	p.buyer.world.memory.addReceived(Received{
		User: p.buyer.id, Device: p.number, Order: o.ID, State: o.State, Rev: o.Rev, Via: via, Cursor: cursor,
	})
}

func (p *phone) socket() *wsclient.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn
}

func (p *phone) close() {
	if s := p.socket(); s != nil {
		s.Close()
	}
}

// sendSeen sends the op `seen` with the phone's cursor.
func (p *phone) sendSeen() {
	s := p.socket()
	if s == nil {
		return
	}
	cursor := s.Cursor()
	err := s.Seen(cursor)
	if code := wsclient.CodeOf(err); code != "" && code != shop.RateLimited && code != shop.Busy {
		p.buyer.world.t.Errorf("send the op seen with cursor %q: %v", cursor, err)
	}
}
