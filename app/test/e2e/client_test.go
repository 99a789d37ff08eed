package e2e

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/kit/asyncapi"
	"stampede/app/wsclient"
	"stampede/realtime"
)

// client is one socket. It stores the events that it receives.
type client struct {
	*wsclient.Conn
	t *testing.T

	mu      sync.Mutex
	orders  []*wsclient.OrderEvent
	replies []*wsclient.Frame // replies that no call waits for
	notices []*wsclient.NoticeEvent
	ticks   map[shop.ID]wsclient.TickLine
	board   atomic.Pointer[wsclient.BoardEvent] // newest board event
}

// asyncMessages returns the frame descriptions in asyncapi.yaml, parsed once. The tests check the frames of their
// sockets against these descriptions. In a crowd, one of crowdChecked sockets is checked, because a check of all frames
// takes more CPU time than the server under test.
var asyncMessages = sync.OnceValues(func() (asyncapi.Messages, error) { return asyncapi.Read(realtime.AsyncAPI) })

// dial opens a socket and sends nothing.
func dial(t *testing.T, n *node) *client {
	t.Helper()
	c, err := tryDial(t, n, true)
	if err != nil {
		t.Fatalf("dial %s: %v", n.addr, err)
	}
	return c
}

func tryDial(t *testing.T, n *node, checked bool) (*client, error) {
	c := &client{t: t, ticks: make(map[shop.ID]wsclient.TickLine)}
	shopURL := "http://" + n.addr
	messages, err := asyncMessages()
	if err != nil {
		return nil, err
	}
	dialer := wsclient.Dialer{Origin: shopURL, OnFrame: c.handleFrame}
	if checked {
		dialer.Seen = messages.CheckFrames(t)
	}
	if c.Conn, err = dialer.Dial(t.Context(), shopURL); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		c.Close()
		if errors.Is(c.Err(), wsclient.ErrFrame) {
			t.Error(c.Err())
		}
	})
	return c, nil
}

// login opens a socket and sends hello for the user.
func login(t *testing.T, n *node, user shop.ID, cursor string) (*client, wsclient.Welcome) {
	t.Helper()
	c := dial(t, n)
	welcome, err := c.Hello(token(t, user), cursor)
	if err != nil {
		t.Fatalf("hello: %v", err)
	}
	return c, welcome
}

// watchSlot opens an anonymous socket that watches the current slot.
func watchSlot(t *testing.T, n *node) (*client, catalog.WatchView) {
	t.Helper()
	c := dial(t, n)
	_, err := c.Hello("", "")
	view, watchErr := c.Watch(0)
	if err := errors.Join(err, watchErr); err != nil {
		t.Fatalf("watch: %v", err)
	}
	return c, view
}

func (c *client) handleFrame(f *wsclient.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Ev == "" {
		c.replies = append(c.replies, f)
	}
	switch e := f.Event.(type) {
	case *wsclient.OrderEvent:
		c.orders = append(c.orders, e)
	case *wsclient.BoardEvent:
		c.board.Store(e)
	case *wsclient.NoticeEvent:
		c.notices = append(c.notices, e)
	case *wsclient.TickEvent:
		for _, line := range e.Sales {
			c.ticks[line.ID] = line
		}
	}
}

// requireError checks that an op was rejected with the code.
func requireError(t *testing.T, code shop.Code, err error) *shop.Error {
	t.Helper()
	var e *shop.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}

// requireBuyError checks that a buy is rejected with the code.
func (c *client) requireBuyError(code shop.Code, sale shop.ID, qty int, key string) *shop.Error {
	c.t.Helper()
	_, err := c.Buy(sale, qty, key)
	return requireError(c.t, code, err)
}

// cancelOrder cancels an order and returns its new state.
func (c *client) cancelOrder(placed shop.ID) shop.OrderState {
	c.t.Helper()
	result, err := c.Cancel(placed)
	if err != nil {
		c.t.Fatalf("cancel: %v", err)
	}
	return result.State
}

// ordersReceived returns the order events received so far.
func (c *client) ordersReceived() []*wsclient.OrderEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.orders)
}

// received reports whether an order event with this state was received.
func (c *client) received(placed shop.ID, state shop.OrderState) bool {
	return slices.ContainsFunc(c.ordersReceived(), func(e *wsclient.OrderEvent) bool {
		return e.Order.ID == placed && e.Order.State == state
	})
}

// lastTick returns the stock and the held units of a sale in the newest tick.
func (c *client) lastTick(sale shop.ID) (stock, held int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ticks[sale].Stock, c.ticks[sale].Held
}
