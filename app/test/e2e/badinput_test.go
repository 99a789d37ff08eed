package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// Bad input gets a clear error and loses nothing: the same socket goes on to buy afterwards.
func TestBadInputIsAnsweredAndTheSocketGoesOn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(5, 2)
	upcoming := s.offer(5, 2, time.Now().Add(time.Hour), time.Now().Add(90*time.Minute))
	closed := s.offer(5, 2, time.Now().Add(-30*time.Minute), time.Now().Add(-10*time.Minute))
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")

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
		"no op":            {map[string]any{"noop": 1}, app.BadRequest},
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
		"foreign token":    {map[string]any{"op": "renew", "token": token(t, kit.NewID())}, app.Forbidden},
		"rubbish token":    {map[string]any{"op": "renew", "token": "x.y.z"}, app.Unauthorized},
		"too many sales":   {map[string]any{"op": "watch", "sales": make([]string, 21)}, app.BadRequest},
		"unknown to watch": {map[string]any{"op": "watch", "sales": []string{"4611686018427387904"}}, app.NotFound},
	} {
		members, err := json.Marshal(f.frame)
		s.must(err)
		_, err = c.Do(wsclient.Request{Text: string(members[1 : len(members)-1])})
		if e := refused(t, f.code, err); e.Message == "" {
			t.Errorf("%s: no sentence for people", name)
		}
		c.Pause(0)
	}
	r, err := c.BuyUntilKnown(sale.ID, 1, "good-key-1")
	if err != nil {
		t.Fatalf("after all that, a good buy: %v", err)
	}
	c.cannotBuy(app.DuplicateKey, sale.ID, 2, "good-key-1")
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

	hello := wsclient.Request{Op: wsclient.Hello}
	t.Run("broken JSON is answered with id 0 and the socket stays open", func(t *testing.T) {
		c := dial(t, n)
		s.must(c.SendRaw(wsclient.Text, []byte(`{"id":1,"op":`)))
		if got := c.awaitAnswer(); got.ID != 0 || got.Error == nil || got.Error.Code != app.BadRequest {
			t.Fatalf("got %+v", got)
		}
		if _, err := c.Do(hello); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("who goes on with broken JSON is closed", func(t *testing.T) {
		c := dial(t, n)
		for range 50 {
			if c.SendRaw(wsclient.Text, []byte("][")) != nil {
				break
			}
		}
		c.wantClose(4500, 4999)
	})
	t.Run("an op before hello is refused", func(t *testing.T) {
		if _, err := dial(t, n).Orders(0); wsclient.CodeOf(err) == "" {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a binary frame is closed", func(t *testing.T) {
		c := dial(t, n)
		s.must(c.SendRaw(wsclient.Binary, []byte(`{"id":1,"op":"hello"}`)))
		c.wantClose(1003, 4999)
	})
	t.Run("an oversized frame is closed", func(t *testing.T) {
		c := dial(t, n)
		frame := `{"id":1,"op":"hello","token":"` + strings.Repeat("x", 1<<20) + `"}`
		_ = c.SendRaw(wsclient.Text, []byte(frame)) // the end may come in the middle of it
		c.wantClose(1009, 4999)
	})
	t.Run("no hello within five seconds is closed", func(t *testing.T) {
		dial(t, n).wantClose(4000, 4999)
	})
	t.Run("an expired token is unauthorized", func(t *testing.T) {
		_, err := dial(t, n).Hello(tokenFor(t, kit.NewID(), -time.Minute), "")
		refused(t, app.Unauthorized, err)
	})
	t.Run("a client faster than allowed is slowed down or closed", func(t *testing.T) {
		c := dial(t, n)
		s.must(c.Send(hello))
		for range 2000 {
			if c.Send(wsclient.Request{Op: wsclient.Time, T0: "1"}) != nil {
				break
			}
		}
		kit.Eventually(t, 10*time.Second, func() (bool, string) {
			limited := c.Err() != nil
			for f := c.nextAnswer(); f != nil; f = c.nextAnswer() {
				limited = limited || f.Error != nil && f.Error.Code == app.RateLimited
			}
			return limited, "2,000 ops in one go were all served"
		})
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
	_, err = conn.Write(wsclient.AppendFrame(wsclient.Handshake(n.addr), wsclient.Text,
		[]byte(`{"id":7,"op":"hello"}`)))
	s.must(err)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	s.must(err)
	_ = response.Body.Close()
	_, answer, err := wsclient.ReadFrame(r)
	s.must(err)
	if got, err := wsclient.Parse(answer); err != nil || got.ID != 7 || got.OK == nil {
		t.Fatalf("answered %s", answer)
	}
}

// A client that never reads does not hold the others up and is let go in the end.
func TestClientThatNeverReadsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(100_000, 1000)
	n := s.start()
	enough := make(chan struct{})
	defer close(enough)
	dialer := wsclient.Dialer{Heard: func(*wsclient.Frame) { <-enough }} // nothing is read behind the first answer
	deaf, err := dialer.Dial(t.Context(), "http://"+n.addr)
	s.must(err)
	t.Cleanup(deaf.Close)
	s.must(deaf.Send(wsclient.Request{Op: wsclient.Hello}))
	s.must(deaf.Send(wsclient.Request{Op: wsclient.Watch}))
	watcher, _ := viewer(t, n)
	buyer, _ := login(t, n, kit.NewID(), "")
	for i := range 20 {
		_, err := buyer.BuyUntilKnown(sale.ID, 1, fmt.Sprintf("buy-number-%d", i))
		s.must(err)
		want := sale.Initial - int64(i) - 1
		kit.Eventually(t, 5*time.Second, func() (bool, string) {
			stock, _ := watcher.lastTick(sale.ID)
			return stock == want, fmt.Sprintf("the watcher sees stock %d, want %d", stock, want)
		})
	}
}

// awaitAnswer waits for the next answer that no call waits for.
func (c *client) awaitAnswer() (answer *wsclient.Frame) {
	c.t.Helper()
	kit.Eventually(c.t, 10*time.Second, func() (bool, string) {
		answer = c.nextAnswer()
		return answer != nil, "no answer"
	})
	return answer
}

// wantClose waits until the server closes the socket with a code of the range.
func (c *client) wantClose(from, to int) {
	c.t.Helper()
	select {
	case <-c.Done():
	case <-time.After(15 * time.Second):
		c.t.Fatal("the socket is still open")
	}
	if code := wsclient.CloseCode(c.Err()); code < from || code > to {
		c.t.Fatalf("ended by %v, want a close code of %d to %d", c.Err(), from, to)
	}
}
