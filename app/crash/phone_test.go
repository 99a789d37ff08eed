//go:build crashpoints

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"stampede/app"
)

// phone is one device of a buyer. It keeps its cursor from socket to socket, as a page does.
type phone struct {
	who    *buyer
	number int

	mu     sync.Mutex
	cursor string
	socket *socket // nil before the first one
}

// hello is the part of its reply that a phone needs.
type hello struct {
	Cursor string  `json:"cursor"`
	Missed []frame `json:"missed"`
	Reset  bool    `json:"reset"`
}

// connect opens a socket to a node unless one is open, says hello, and takes in what was missed.
func (p *phone) connect(addr string) error {
	if old := p.line(); old != nil {
		select {
		case <-old.gone:
		default:
			return nil
		}
	}
	s, err := dial(addr, p.heard)
	if err != nil {
		return err
	}
	if err := p.greet(s); err != nil {
		s.close()
		return err
	}
	p.mu.Lock()
	p.socket = s
	p.mu.Unlock()
	return nil
}

func (p *phone) greet(s *socket) error {
	ask := map[string]any{"op": "hello", "token": p.who.token}
	p.mu.Lock()
	known := p.cursor
	p.mu.Unlock()
	if known != "" {
		ask["cursor"] = known
	}
	reply, err := s.do(ask)
	if err != nil {
		return err
	}
	var h hello
	if err := json.Unmarshal(reply, &h); err != nil {
		return fmt.Errorf("hello answered %s: %w", reply, err)
	}
	for _, e := range h.Missed {
		p.learn(e.Order, ByMissed, e.Cursor)
	}
	p.mu.Lock()
	if p.cursor == known { // no event has overtaken the reply
		p.cursor = h.Cursor
	}
	p.mu.Unlock()
	if !h.Reset {
		return nil
	}
	p.who.world.memory.reset(Reset{User: p.who.id, Device: p.number})
	return p.readOrders(s)
}

// readOrders is what a page does after a reset.
func (p *phone) readOrders(s *socket) error {
	for before := app.ID(0); ; {
		ask := map[string]any{"op": "orders"}
		if before != 0 {
			ask["before"] = before
		}
		reply, err := s.do(ask)
		if err != nil {
			return err
		}
		var page struct {
			Orders []app.Order `json:"orders"`
			More   bool        `json:"more"`
		}
		if err := json.Unmarshal(reply, &page); err != nil {
			return fmt.Errorf("orders answered %s: %w", reply, err)
		}
		for _, o := range page.Orders {
			p.learn(o, ByOrders, "")
			before = o.ID
		}
		if !page.More {
			return nil
		}
	}
}

// heard takes an event of the open socket.
func (p *phone) heard(f frame) {
	p.mu.Lock()
	p.cursor = f.Cursor
	p.mu.Unlock()
	p.learn(f.Order, ByEvent, f.Cursor)
}

func (p *phone) learn(o app.Order, via Via, cursor string) {
	p.who.world.memory.heard(Heard{
		User: p.who.id, Device: p.number, Order: o.ID, State: o.State, Rev: o.Rev, Via: via, Cursor: cursor,
	})
}

func (p *phone) line() *socket {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.socket
}

func (p *phone) close() {
	if s := p.line(); s != nil {
		s.close()
	}
}

// hasHeard reports whether an event has ever reached the phone: a cursor is <epoch>-<number of events>.
func (p *phone) hasHeard() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cursor != "" && !strings.HasSuffix(p.cursor, "-0")
}

// seen says up to where the owner has looked.
func (p *phone) seen() {
	p.mu.Lock()
	cursor := p.cursor
	p.mu.Unlock()
	if _, err := p.ask(map[string]any{"op": "seen", "cursor": cursor}); codeOf(err) != "" && codeOf(err) != app.RateLimited && codeOf(err) != app.Busy {
		p.who.world.t.Errorf("seen %q: %v", cursor, err)
	}
}

// ask does an op on the open socket.
func (p *phone) ask(op map[string]any) (json.RawMessage, error) {
	s := p.line()
	if s == nil {
		return nil, errGone
	}
	return s.do(op)
}

// codeOf is what the server said, "" when nothing is known.
func codeOf(err error) app.Code {
	var e *app.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
