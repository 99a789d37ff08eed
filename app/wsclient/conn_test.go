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

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// dial opens a socket to a server that replies to each op with the frames of the function reply. If reply returns nil,
// the server closes the socket. The channel receives events and the replies without a waiting call.
func dial(t *testing.T, d Dialer, reply func(r Request) []string) (*Conn, <-chan *Frame) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := (&websocket.Upgrader{Subprotocols: []string{Subprotocol}}).Upgrade(w, r, nil)
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
			frames := reply(r)
			for _, frame := range frames {
				_ = socket.WriteMessage(Text, []byte(frame))
			}
			if frames == nil {
				_ = socket.WriteMessage(Close, websocket.FormatCloseMessage(4000, "drain"))
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	received := make(chan *Frame, 8)
	d.OnFrame = func(f *Frame) { received <- f }
	c, err := d.Dial(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, received
}

func okFrame(r Request, members string) string {
	return fmt.Sprintf(`{"id":%d,"ok":{%s}}`, r.ID, members)
}

func errorFrame(r Request, code shop.Code) string {
	return fmt.Sprintf(`{"id":%d,"error":{"code":%q,"message":"no","retry_ms":1}}`, r.ID, code)
}

func orderFrame(cursor string) string {
	return fmt.Sprintf(`{"ev":"order","cursor":%q,"order":{"id":"7","sale":"5","state":"pending","rev":1}}`, cursor)
}

// Replies reach the calls that wait for them, also out of order. The callback receives all other frames in order.
func TestRepliesReachTheirCalls(t *testing.T) {
	t.Parallel()
	var first Request
	c, received := dial(t, Dialer{}, func(r Request) []string {
		switch r.Op {
		case Watch:
			first = r
			return []string{}
		case Buy:
			return []string{
				orderFrame("c-1"), okFrame(r, `"order":"7","ticket":3,"state":"reserved"`), orderFrame("c-2"), okFrame(first, ""),
			}
		default:
			return []string{errorFrame(r, shop.NotFound)}
		}
	})
	if err := c.Send(Request{Op: Watch, Slot: 9}); err != nil {
		t.Fatal(err)
	}
	receipt, err := c.Buy(5, 1, "k")
	if want := (order.Receipt{Order: 7, Ticket: 3, State: shop.Reserved}); err != nil || receipt != want {
		t.Errorf("got receipt %+v, error %v; want %+v", receipt, err, want)
	}
	for _, want := range []string{"c-1", "c-2"} {
		if e, ok := (<-received).Event.(*OrderEvent); !ok || e.Cursor != want || e.Order.ID != 7 {
			t.Errorf("got %+v, want the event with cursor %s", e, want)
		}
	}
	if f := <-received; f.Request.Op != Watch || f.Request.Slot != 9 || f.OK == nil {
		t.Errorf("got %+v, want the reply to watch", f)
	}
	for _, r := range []Request{{Op: Cancel, Order: 7}, {Text: `"op":"dance"`}} {
		if _, err := c.Do(r); CodeOf(err) != shop.NotFound {
			t.Errorf("%+v: got %v, want not_found", r, err)
		}
	}
}

// The cursor of hello does not overwrite the cursor of an event that follows immediately.
func TestHelloDoesNotOverwriteNewerCursor(t *testing.T) {
	t.Parallel()
	c, received := dial(t, Dialer{}, func(r Request) []string {
		return []string{okFrame(r, `"cursor":"c-5","missed":[`+orderFrame("c-4")+`]`), orderFrame("c-6")}
	})
	welcome, err := c.Hello("token", "c-3")
	if err != nil || welcome.Cursor != "c-5" || len(welcome.Missed) != 1 || welcome.Missed[0].Cursor != "c-4" {
		t.Errorf("got welcome %+v, error %v; want cursor c-5 and one missed event with cursor c-4", welcome, err)
	}
	<-received
	if c.Cursor() != "c-6" {
		t.Errorf("got cursor %q, want c-6", c.Cursor())
	}
}

// I6: a buy is repeated with its key while its outcome is unknown.
func TestBuyUntilKnownRepeatsWithTheSameKey(t *testing.T) {
	t.Parallel()
	var keys []string
	c, _ := dial(t, Dialer{}, func(r Request) []string {
		if keys = append(keys, r.Key); len(keys) < 3 {
			return []string{errorFrame(r, []shop.Code{shop.Busy, shop.RateLimited}[len(keys)-1])}
		}
		return []string{okFrame(r, `"order":"7","state":"pending"`)}
	})
	receipt, err := c.BuyUntilKnown(5, 1, "the-key")
	if err != nil || receipt.Order != 7 || fmt.Sprint(keys) != "[the-key the-key the-key]" {
		t.Errorf("got receipt %+v, error %v, keys %v; want order 7 after three calls with the-key", receipt, err, keys)
	}
}

// When the socket ends, a pending call returns ErrNoReply, and Err returns the reason.
func TestPendingCallReturnsErrNoReplyWhenSocketEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		silence time.Duration
		frames  []string
		code    int
		frame   bool // whether the connection ends with ErrFrame
	}{
		"closed by the server": {code: 4000},
		"an unreadable frame":  {frames: []string{"rubbish"}, frame: true},
		"a silent server":      {frames: []string{}, silence: 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := dial(t, Dialer{Silence: end.silence}, func(Request) []string { return end.frames })
			if _, err := c.Time("1"); !errors.Is(err, ErrNoReply) || CodeOf(err) != "" {
				t.Errorf("got %v, want ErrNoReply without a code", err)
			}
			<-c.Done()
			if err := c.Err(); err == nil || CloseCode(err) != end.code || errors.Is(err, ErrFrame) != end.frame {
				t.Errorf("ended with %v, want close code %d, unreadable frame %t", err, end.code, end.frame)
			}
			if c.Send(Request{Op: Watch}) == nil {
				t.Error("Send succeeds on a closed connection")
			}
		})
	}
}

func TestRejectedHandshakeReturnsStatusAndBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "not from "+r.Header.Get("Origin"), http.StatusForbidden)
	}))
	defer server.Close()
	_, err := (&Dialer{Origin: "http://evil.example"}).Dial(t.Context(), server.URL)
	var refused *Refused
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusForbidden {
		t.Fatalf("got %v, want 403", err)
	}
	if body, err := io.ReadAll(refused.Body); err != nil || string(body) != "not from http://evil.example\n" {
		t.Errorf("got body %q, error %v; want the body of the server", body, err)
	}
}
