//go:build crashpoints

package crash

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

// socket is one connection of a phone. Its replies go to whoever waits for them, its events to the device.
type socket struct {
	conn *websocket.Conn
	gone chan struct{} // closed when it ended

	writing sync.Mutex
	mu      sync.Mutex
	lastID  int
	waiting map[int]chan frame
}

// frame is any frame of the server.
type frame struct {
	ID     int             `json:"id"`
	OK     json.RawMessage `json:"ok"`
	Error  *app.Error      `json:"error"`
	Ev     string          `json:"ev"`
	Cursor string          `json:"cursor"`
	Order  app.Order       `json:"order"`
}

// dial opens a socket; each order event goes to heard.
func dial(addr string, heard func(frame)) (*socket, error) {
	d := websocket.Dialer{Subprotocols: []string{"stampede.v1"}, HandshakeTimeout: 20 * time.Second}
	conn, resp, err := d.Dial("ws://"+addr+"/ws", http.Header{"Origin": {"http://" + addr}})
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	s := &socket{conn: conn, gone: make(chan struct{}), waiting: make(map[int]chan frame)}
	go s.read(heard)
	return s, nil
}

func (s *socket) read(heard func(frame)) {
	defer close(s.gone)
	for {
		_, text, err := s.conn.ReadMessage()
		if err != nil {
			return
		}
		var f frame
		if err := json.Unmarshal(text, &f); err != nil {
			continue
		}
		if f.Ev == "order" {
			heard(f)
		}
		if f.Ev != "" {
			continue
		}
		s.mu.Lock()
		answer := s.waiting[f.ID]
		delete(s.waiting, f.ID)
		s.mu.Unlock()
		if answer != nil {
			answer <- f
		}
	}
}

var (
	errGone   = errors.New("the socket ended before the reply")
	errSilent = errors.New("no reply within 30 s")
)

// do sends an op and waits for its reply. An *app.Error is what the server said; everything else means that nothing
// is known.
func (s *socket) do(op map[string]any) (json.RawMessage, error) {
	answer := make(chan frame, 1)
	s.mu.Lock()
	s.lastID++
	op["id"] = s.lastID
	s.waiting[s.lastID] = answer
	s.mu.Unlock()
	text, err := json.Marshal(op)
	if err != nil {
		return nil, err
	}
	s.writing.Lock()
	err = s.conn.WriteMessage(websocket.TextMessage, text)
	s.writing.Unlock()
	if err != nil {
		return nil, errGone
	}
	silent := time.NewTimer(30 * time.Second)
	defer silent.Stop()
	select {
	case f := <-answer:
		return f.OK, failure(f.Error)
	case <-s.gone:
		select {
		case f := <-answer: // it came last of all
			return f.OK, failure(f.Error)
		default:
			return nil, errGone
		}
	case <-silent.C:
		return nil, errSilent
	}
}

func failure(e *app.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func (s *socket) close() {
	_ = s.conn.Close()
	<-s.gone
}
