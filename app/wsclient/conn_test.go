package wsclient

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
	"stampede/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// server answers each op with what say makes of it; "" is no answer, and nil ends the socket.
func server(t *testing.T, say func(r Request) []string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == "http://evil.example" {
			http.Error(w, "not from there", http.StatusForbidden)
			return
		}
		upgrader := websocket.Upgrader{Subprotocols: []string{Subprotocol}}
		socket, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer socket.Close()
		for {
			var r Request
			if socket.ReadJSON(&r) != nil {
				return
			}
			frames := say(r)
			for _, frame := range frames {
				_ = socket.WriteMessage(websocket.TextMessage, []byte(frame))
			}
			if frames == nil {
				_ = socket.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4000, "drain"))
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func ok(r Request, members string) string { return fmt.Sprintf(`{"id":%d,"ok":{%s}}`, r.ID, members) }

func failed(r Request, code app.Code) string {
	return fmt.Sprintf(`{"id":%d,"error":{"code":%q,"message":"no","retry_ms":1}}`, r.ID, code)
}

func event(cursor string) string {
	return fmt.Sprintf(`{"ev":"order","cursor":%q,"key":"k","order":{"id":"7","sale":"5","state":"pending","rev":1}}`, cursor)
}

func dial(t *testing.T, d Dialer, shop string) *Conn {
	t.Helper()
	c, err := d.Dial(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Answers find the calls that wait for them, also in another order; all else is heard in the order in which it came.
func TestAnswersFindTheirCalls(t *testing.T) {
	t.Parallel()
	var first Request
	shop := server(t, func(r Request) []string {
		switch r.Op {
		case Watch:
			first = r
			return []string{}
		case Buy:
			bought := ok(r, `"order":"7","ticket":3,"state":"reserved"`)
			return []string{event("c-1"), bought, event("c-2"), ok(first, `"slots":[],"sales":[]`)}
		default:
			return []string{failed(r, app.NotFound)}
		}
	})
	heard := make(chan *Frame, 8)
	c := dial(t, Dialer{Heard: func(f *Frame) { heard <- f }}, shop)
	if err := c.Send(Request{Op: Watch, Slot: 9}); err != nil {
		t.Fatal(err)
	}
	receipt, err := c.Buy(5, 1, "k")
	if err != nil || receipt.Order != 7 || receipt.Ticket != 3 || receipt.State != app.Reserved {
		t.Errorf("bought %+v, %v", receipt, err)
	}
	for _, want := range []string{"c-1", "c-2"} {
		if e, ok := (<-heard).Event.(*OrderEvent); !ok || e.Cursor != want || e.Order.ID != 7 {
			t.Errorf("heard %+v, want the event at %s", e, want)
		}
	}
	if f := <-heard; f.Request.Op != Watch || f.Request.Slot != 9 || f.OK == nil {
		t.Errorf("heard %+v, want the answer to watch", f)
	}
	if c.Cursor() != "c-2" {
		t.Errorf("cursor %q", c.Cursor())
	}
	if _, err := c.Cancel(7); CodeOf(err) != app.NotFound {
		t.Errorf("cancel: %v", err)
	}
	if _, err := c.Do(Request{Text: `"op":"dance"`}); CodeOf(err) != app.NotFound {
		t.Errorf("dance: %v", err)
	}
}

// The cursor of hello does not go back behind an event that came right after it.
func TestCursorFollowsTheWire(t *testing.T) {
	t.Parallel()
	shop := server(t, func(r Request) []string {
		return []string{ok(r, `"cursor":"c-5","missed":[`+event("c-4")+`],"reservations":[]`), event("c-6")}
	})
	heard := make(chan *Frame, 1)
	c := dial(t, Dialer{Heard: func(f *Frame) { heard <- f }}, shop)
	welcome, err := c.Hello("token", "c-3")
	if err != nil || welcome.Cursor != "c-5" || len(welcome.Missed) != 1 || welcome.Missed[0].Cursor != "c-4" {
		t.Errorf("welcome %+v, %v", welcome, err)
	}
	<-heard
	if c.Cursor() != "c-6" {
		t.Errorf("cursor %q", c.Cursor())
	}
}

// I6: a buy is repeated with its key while nobody knows what became of it.
func TestBuyUntilKnown(t *testing.T) {
	t.Parallel()
	var keys []string
	shop := server(t, func(r Request) []string {
		keys = append(keys, r.Key)
		if len(keys) < 3 {
			return []string{failed(r, []app.Code{app.Busy, app.RateLimited}[len(keys)-1])}
		}
		return []string{ok(r, `"order":"7","state":"pending"`)}
	})
	receipt, err := dial(t, Dialer{}, shop).BuyUntilKnown(5, 1, "the-key")
	if err != nil || receipt.Order != 7 || len(keys) != 3 || keys[0] != "the-key" || keys[2] != "the-key" {
		t.Errorf("%+v, %v, under %v", receipt, err, keys)
	}
}

// A call whose socket ends knows nothing, and everybody learns why it ended.
func TestConnectionsEnd(t *testing.T) {
	t.Parallel()
	silent := func(Request) []string { return []string{} }
	for name, end := range map[string]struct {
		dialer Dialer
		say    func(Request) []string
		code   int

		unreadable bool
	}{
		"closed by the server":    {Dialer{}, func(Request) []string { return nil }, 4000, false},
		"a frame that is none":    {Dialer{}, func(Request) []string { return []string{"rubbish"} }, 0, true},
		"a server without a word": {Dialer{Silence: 50 * time.Millisecond}, silent, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, end.dialer, server(t, end.say))
			if _, err := c.Time("1"); !errors.Is(err, ErrGone) || CodeOf(err) != "" {
				t.Errorf("answered %v", err)
			}
			<-c.Done()
			if c.Err() == nil || CloseCode(c.Err()) != end.code || errors.Is(c.Err(), ErrFrame) != end.unreadable {
				t.Errorf("ended with %v, want code %d", c.Err(), end.code)
			}
			if c.Send(Request{Op: Time, T0: "1"}) == nil {
				t.Error("it can still be written to")
			}
		})
	}
}

func TestHandshakesThatAreNotGranted(t *testing.T) {
	t.Parallel()
	shop := server(t, func(Request) []string { return nil })
	_, err := (&Dialer{Origin: "http://evil.example"}).Dial(t.Context(), shop)
	var refused *Refused
	if !errors.As(err, &refused) || refused.Response.StatusCode != http.StatusForbidden {
		t.Fatalf("got %v, want 403", err)
	}
	if body, err := io.ReadAll(refused.Response.Body); err != nil || string(body) != "not from there\n" {
		t.Errorf("it says %q, %v", body, err)
	}
	if _, err := (&Dialer{}).Dial(t.Context(), "http://127.0.0.1:1"); err == nil || errors.As(err, &refused) {
		t.Errorf("nobody there: %v", err)
	}
}
