package realtime

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/wsclient"
)

// Rolling restart: every client receives a reconnect delay, the delays differ, and new connections are rejected.
func TestDrainSendsByeAndRejectsNewConnections(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	peers := make([]*peer, 20)
	for i := range peers {
		peers[i] = n.connect(t, 0)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := n.hub.Drain(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	pauses := make(map[int64]bool)
	for _, p := range peers {
		p.awaitClose(CloseDrain)
		pause := p.all("bye")[0].Event.(*wsclient.ByeEvent).RetryMS
		pauses[pause] = true
		if pause < minRetryDelay.Milliseconds() || pause > maxPause.Milliseconds() {
			t.Errorf("got retry_ms %d, want %d to %d", pause, minRetryDelay.Milliseconds(), maxPause.Milliseconds())
		}
	}
	if len(pauses) < 10 {
		t.Errorf("got %d different pauses, want at least 10", len(pauses))
	}
	n.wantHandshakeRejected(t, Subprotocol, http.StatusServiceUnavailable)
}

// Frames queued before the drain are delivered before bye.
func TestDrainDeliversQueuedFrames(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.connect(t, 7)
	n.awaitProven()
	n.feed.commitAndPublish(t, orderWithRev(7, 100, 1))
	p.awaitEvents("order", 1)
	c := n.hub.allClients()[0]
	c.send([]byte(`{"ev":"future"}`))
	c.startClose(CloseDrain)
	p.awaitClose(CloseDrain)
	if len(p.all("future")) != 1 {
		t.Error("a queued frame was dropped")
	}
}

// A client with a running buy receives the reply before bye. Other clients do not wait for it.
func TestDrainWaitsForRunningOps(t *testing.T) {
	t.Parallel()
	n, buyer, started := startBuy(t)
	idle, finishBuy := n.connect(t, 6), <-started
	drained := make(chan error)
	go func() { drained <- n.hub.Drain(t.Context(), 0) }()
	idle.awaitClose(CloseDrain)
	if len(buyer.all("bye")) > 0 {
		t.Error("bye arrived before the reply")
	}
	finishBuy(order.Receipt{Order: 1011, Ticket: 1, State: shop.Reserved}, nil)
	if f := buyer.await("the reply", func(f *wsclient.Frame) bool { return f.ID == 101 }); f.OK == nil {
		t.Errorf("buy returned %+v, want a receipt", f)
	}
	buyer.awaitClose(CloseDrain)
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// A peer that sends no close frame cannot delay the drain beyond its context.
func TestDrainEndsWithItsContext(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	conn, _ := n.rawHandshake(t, masked(`{"id":1,"op":"hello"}`))
	n.awaitClients(1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := n.hub.Drain(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Drain returned %v, want DeadlineExceeded", err)
	}
	conn.Close()
}

// wantHandshakeRejected attempts a handshake that must fail with the status.
func (n *node) wantHandshakeRejected(t *testing.T, subprotocol string, want int) {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{subprotocol}, HandshakeTimeout: testTimeout}
	conn, resp, err := d.Dial("ws://"+n.addr+"/ws", nil)
	if err == nil {
		conn.Close()
		t.Fatalf("the handshake was accepted, want status %d", want)
	}
	if resp == nil || resp.StatusCode != want {
		t.Errorf("got response %v (%v), want status %d", resp, err, want)
	}
}

func TestInvalidOrSurplusHandshakesAreRejected(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.MaxClients = 1 })
	n.wantHandshakeRejected(t, "chat.v2", http.StatusBadRequest)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + n.addr + "/ws")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a plain request returned %s, want 426", resp.Status)
	}
	n.dial(t).hello(0, "")
	n.wantHandshakeRejected(t, Subprotocol, http.StatusServiceUnavailable)
}
