package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
	"stampede/app/apptest"
)

// Bad input gets a clear error and loses nothing: the same socket goes on to buy afterwards.
func TestBadInputIsAnsweredAndTheSocketGoesOn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(5, 2)
	upcoming := s.offer(5, 2, time.Now().Add(time.Hour), time.Now().Add(90*time.Minute))
	closed := s.offer(5, 2, time.Now().Add(-30*time.Minute), time.Now().Add(-10*time.Minute))
	n := s.start()
	c, _ := login(t, n, newID(), "")

	buy := func(change map[string]any) map[string]any {
		frame := map[string]any{"op": "buy", "sale": sale.ID, "qty": 1, "key": "good-key-1"}
		for k, v := range change {
			if v == nil {
				delete(frame, k)
				continue
			}
			frame[k] = v
		}
		return frame
	}
	for name, f := range map[string]struct {
		frame map[string]any
		code  app.Code
	}{
		"unknown op":       {map[string]any{"op": "dance"}, app.UnknownOp},
		"no op":            {map[string]any{}, app.BadRequest},
		"sale missing":     {buy(map[string]any{"sale": nil}), app.BadRequest},
		"sale a number":    {buy(map[string]any{"sale": 12}), app.BadRequest},
		"unknown sale":     {buy(map[string]any{"sale": "4611686018427387904"}), app.NotFound},
		"qty missing":      {buy(map[string]any{"qty": nil}), app.BadRequest},
		"qty 0":            {buy(map[string]any{"qty": 0}), app.BadRequest},
		"qty negative":     {buy(map[string]any{"qty": -1}), app.BadRequest},
		"qty a word":       {buy(map[string]any{"qty": "one"}), app.BadRequest},
		"qty a fraction":   {buy(map[string]any{"qty": 1.5}), app.BadRequest},
		"qty over limit":   {buy(map[string]any{"qty": 3}), app.LimitReached},
		"qty huge":         {buy(map[string]any{"qty": json.Number("99999999999999999999")}), app.LimitReached},
		"key missing":      {buy(map[string]any{"key": nil}), app.BadRequest},
		"key short":        {buy(map[string]any{"key": "abc"}), app.BadRequest},
		"key odd":          {buy(map[string]any{"key": "spaces are bad"}), app.BadRequest},
		"half an address":  {buy(map[string]any{"address": map[string]string{"name": "A"}}), app.BadRequest},
		"not open yet":     {buy(map[string]any{"sale": upcoming.ID}), app.NotOpen},
		"closed":           {buy(map[string]any{"sale": closed.ID}), app.Closed},
		"unknown order":    {map[string]any{"op": "cancel", "order": "4611686018427387904"}, app.NotFound},
		"order missing":    {map[string]any{"op": "cancel"}, app.BadRequest},
		"unknown slot":     {map[string]any{"op": "watch", "slot": "4611686018427387904"}, app.NotFound},
		"foreign token":    {map[string]any{"op": "renew", "token": token(t, newID())}, app.Forbidden},
		"rubbish token":    {map[string]any{"op": "renew", "token": "x.y.z"}, app.Unauthorized},
		"too many sales":   {map[string]any{"op": "watch", "sales": make([]string, 21)}, app.BadRequest},
		"unknown to watch": {map[string]any{"op": "watch", "sales": []string{"4611686018427387904"}}, app.NotFound},
	} {
		e := c.fails(f.code, f.frame)
		if e.Message == "" {
			t.Errorf("%s: no sentence for people", name)
		}
		c.pause(0)
	}
	r, err := c.buyUntilKnown(sale.ID, 1, "good-key-1")
	if err != nil {
		t.Fatalf("after all that, a good buy: %v", err)
	}
	c.fails(app.DuplicateKey, buy(map[string]any{"qty": 2}))
	s.drained(sale, 10*time.Second)
	if n := s.count("SELECT COUNT(*) FROM orders"); n != 1 {
		t.Errorf("%d orders, want only %s", n, r.Order)
	}
	s.audit(sale)
}

// Frames that are not frames.
func TestBrokenFramesAreAnsweredOrClosed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(5, 2)
	n := s.start()

	t.Run("broken JSON is answered with id 0 and the socket stays open", func(t *testing.T) {
		conn := rawDial(t, n)
		send(t, conn, websocket.TextMessage, `{"id":1,"op":`)
		if got := receive(t, conn); got.ID != 0 || got.Error == nil || got.Error.Code != app.BadRequest {
			t.Fatalf("got %+v", got)
		}
		send(t, conn, websocket.TextMessage, `{"id":2,"op":"hello"}`)
		if got := receive(t, conn); got.ID != 2 || got.OK == nil {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("who goes on with broken JSON is closed", func(t *testing.T) {
		conn := rawDial(t, n)
		for range 50 {
			if conn.WriteMessage(websocket.TextMessage, []byte("][")) != nil {
				break
			}
		}
		wantClose(t, conn, 4500, 4999)
	})
	t.Run("an op before hello is refused", func(t *testing.T) {
		conn := rawDial(t, n)
		send(t, conn, websocket.TextMessage, `{"id":1,"op":"orders"}`)
		if got := receive(t, conn); got.Error == nil {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("a binary frame is closed", func(t *testing.T) {
		conn := rawDial(t, n)
		send(t, conn, websocket.BinaryMessage, `{"id":1,"op":"hello"}`)
		wantClose(t, conn, 1003, 4999)
	})
	t.Run("an oversized frame is closed", func(t *testing.T) {
		conn := rawDial(t, n)
		send(t, conn, websocket.TextMessage, `{"id":1,"op":"hello","token":"`+strings.Repeat("x", 1<<20)+`"}`)
		wantClose(t, conn, 1009, 4999)
	})
	t.Run("no hello within five seconds is closed", func(t *testing.T) {
		wantClose(t, rawDial(t, n), 4000, 4999)
	})
	t.Run("an expired token is unauthorized", func(t *testing.T) {
		conn := rawDial(t, n)
		send(t, conn, websocket.TextMessage, fmt.Sprintf(`{"id":1,"op":"hello","token":%q}`, tokenFor(t, newID(), -time.Minute)))
		if got := receive(t, conn); got.Error == nil || got.Error.Code != app.Unauthorized {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("a client faster than allowed is slowed down or closed", func(t *testing.T) {
		conn := rawDial(t, n)
		send(t, conn, websocket.TextMessage, `{"id":1,"op":"hello"}`)
		for i := range 2000 {
			if conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"id":%d,"op":"time","t0":1}`, i+2)) != nil {
				break
			}
		}
		limited := false
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		for !limited {
			_, frame, err := conn.ReadMessage()
			limited = err != nil && !isTimeout(err) || strings.Contains(string(frame), string(app.RateLimited))
			if isTimeout(err) {
				t.Fatal("2,000 ops in one go were all served")
			}
		}
	})
}

// A client may send its first frame in the same packet as the handshake.
func TestFirstFrameInTheHandshakePacket(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(5, 2)
	n := s.start()
	conn, err := net.Dial("tcp", n.addr)
	s.must(err)
	defer func() { _ = conn.Close() }()
	payload := []byte(`{"id":7,"op":"hello"}`)
	frame := append([]byte{0x81, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...) // masked with zeros
	handshake := "GET /ws HTTP/1.1\r\nHost: " + n.addr + "\r\nOrigin: http://" + n.addr + "\r\nUpgrade: websocket\r\n" +
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: stampede.v1\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	_, err = conn.Write(append([]byte(handshake), frame...))
	s.must(err)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		s.must(err)
		if line == "\r\n" {
			break
		}
	}
	head := make([]byte, 2)
	_, err = io.ReadFull(r, head)
	s.must(err)
	size := int(head[1])
	if size == 126 {
		long := make([]byte, 2)
		_, err = io.ReadFull(r, long)
		s.must(err)
		size = int(long[0])<<8 | int(long[1])
	}
	body := make([]byte, size)
	_, err = io.ReadFull(r, body)
	s.must(err)
	var got reply
	if err := json.Unmarshal(body, &got); err != nil || got.ID != 7 || got.OK == nil {
		t.Fatalf("answered %s", body)
	}
}

// A client that never reads does not hold the others up and is let go in the end.
func TestClientThatNeverReadsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(100_000, 1000)
	n := s.start()
	deaf := rawDial(t, n)
	send(t, deaf, websocket.TextMessage, `{"id":1,"op":"hello"}`)
	send(t, deaf, websocket.TextMessage, `{"id":2,"op":"watch"}`)
	watcher := dial(t, n)
	watcher.must(map[string]any{"op": "hello"}, nil)
	watcher.must(map[string]any{"op": "watch"}, nil)
	buyer, _ := login(t, n, newID(), "")
	for i := range 20 {
		_, err := buyer.buyUntilKnown(sale.ID, 1, fmt.Sprintf("buy-number-%d", i))
		s.must(err)
		want := sale.Initial - int64(i) - 1
		apptest.Eventually(t, 5*time.Second, func() (bool, string) {
			stock, _ := watcher.lastTick(sale.ID)
			return stock == want, fmt.Sprintf("the watcher sees stock %d, want %d", stock, want)
		})
	}
}

func rawDial(t *testing.T, n *node) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"stampede.v1"}, HandshakeTimeout: 10 * time.Second}
	conn, resp, err := d.Dial("ws://"+n.addr+"/ws", nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn *websocket.Conn, kind int, text string) {
	t.Helper()
	if err := conn.WriteMessage(kind, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// receive reads until the next reply, past events.
func receive(t *testing.T, conn *websocket.Conn) reply {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(frame), `{"ev"`) {
			continue
		}
		var r reply
		if err := json.Unmarshal(frame, &r); err != nil {
			t.Fatalf("%s: %v", frame, err)
		}
		return r
	}
}

// wantClose reads until the server closes the socket with a code of the range.
func wantClose(t *testing.T, conn *websocket.Conn, from, to int) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(15 * time.Second))
	for {
		_, _, err := conn.ReadMessage()
		if err == nil {
			continue
		}
		closed, ok := err.(*websocket.CloseError)
		if !ok || closed.Code < from || closed.Code > to {
			t.Fatalf("ended by %v, want a close code of %d to %d", err, from, to)
		}
		return
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
