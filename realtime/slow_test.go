package realtime

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// rawHandshake opens a connection without the client library. It sends firstFrames in the same packet as the handshake.
func (n *node) rawHandshake(t *testing.T, firstFrames []byte) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(append(wsclient.Handshake(n.addr), firstFrames...)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got status %s of the handshake, want 101", resp.Status)
	}
	return conn, r
}

// masked returns a client text frame in wire format.
func masked(text string) []byte { return wsclient.AppendFrame(nil, wsclient.Text, []byte(text)) }

// readText returns the text of a server frame.
func readText(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	_, text, err := wsclient.ReadFrame(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFramesInHandshakePacketAreHandled(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	firstFrames := append(masked(`{"id":1,"op":"hello"}`), masked(`{"id":2,"op":"time","t0":5}`)...)
	_, r := n.rawHandshake(t, firstFrames)
	if got := readText(t, r); !strings.HasPrefix(got, `{"id":1,"ok":{"now":`) {
		t.Errorf("got the reply %s to hello", got)
	}
	if got := readText(t, r); !strings.HasPrefix(got, `{"id":2,"ok":{"t0":5,`) {
		t.Errorf("got the reply %s to time", got)
	}
}

// A client that never reads delays neither the tick loop nor other clients. Its write may block for the whole test, so
// a tick that waited for it would never arrive.
func TestClientThatNeverReadsDelaysNoTick(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.WriteWithin = time.Hour })
	n.connectStalledClient(t)
	stuck := n.hub.allClients()[0]
	p := n.watcher(t, `"op":"watch"`)
	n.sendThreeTicks(counters(11, 1))
	for round := range int64(16) {
		n.fillBuffers()
		n.hub.Tick(shop.Millis(round), []shop.Counters{counters(11, round)})
		p.awaitTick("tick", func(lines map[shop.ID]wsclient.TickLine) bool { return lines[11].Stock == round })
	}
	stuck.mu.Lock()
	writing := stuck.writing
	stuck.mu.Unlock()
	if got := len(n.hub.allClients()); got != 2 || !writing {
		t.Errorf("got %d clients, want 2; got blocked write to the client that never reads: %v, want true", got, writing)
	}
	p.waitHandled()
}

// A client that never reads is closed as slow when a write exceeds WriteWithin.
func TestClientThatNeverReadsIsClosed(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.WriteWithin = 100 * time.Millisecond })
	n.connectStalledClient(t)
	kit.Eventually(t, time.Minute, func() (bool, string) {
		n.fillBuffers()
		return n.closed(CloseSlow) == 1, "the client that never reads is still connected"
	})
	n.awaitClients(0)
}

// connectStalledClient connects a client that watches and never reads.
func (n *node) connectStalledClient(t *testing.T) {
	t.Helper()
	stuck, _ := n.rawHandshake(t, append(masked(`{"id":1,"op":"hello"}`), masked(`{"id":2,"op":"watch"}`)...))
	if err := stuck.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	n.awaitClients(1)
}

// fillBuffers sends 256 KiB to each client. The subjects differ, so that no hint replaces another. A few calls fill the
// kernel buffers.
func (n *node) fillBuffers() {
	big := strings.Repeat("x", 32<<10)
	for subject := range 8 {
		frame := newPreparedMessage(encode(noticeEvent{"notice", "info", big, 0, nil}))
		for _, c := range n.hub.allClients() {
			c.offerHint(fmt.Sprint(subject), frame)
		}
	}
}

// closed returns the number of connections that the server closed for this reason.
func (n *node) closed(code CloseCode) int {
	return int(testutil.ToFloat64(n.hub.metrics.closed.WithLabelValues(code.String())))
}

// Replies and personal events are never dropped. When the queue is full, the connection is closed.
func TestQueueOverflowClosesAsSlow(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.connect(t, 7)
	c := n.hub.allClients()[0]
	c.mu.Lock()
	wasWriting := c.writing
	c.writing = true // as if a writer were blocked
	for i := range maxQueued {
		if !c.out.push([]byte(`{"ev":"future"}`)) {
			t.Errorf("the queue is full after %d frames", i)
		}
	}
	c.sendLocked([]byte(`{"ev":"one too many"}`))
	closing := c.out.closing
	c.writing = wasWriting
	c.startWriter()
	c.mu.Unlock()
	if closing != CloseSlow {
		t.Fatalf("got close code %v, want CloseSlow", closing)
	}
	p.awaitClose(CloseSlow)
}

func TestQueuedHintsAreLimitedAndReplaced(t *testing.T) {
	t.Parallel()
	var o outbox
	for i := range maxHints {
		if !o.putHint(fmt.Sprint(i), nil) {
			t.Fatalf("the queue is full after %d frames", i)
		}
	}
	if !o.putHint("0", newPreparedMessage([]byte(`{}`))) {
		t.Error("a newer hint of the same subject was rejected")
	}
	if o.putHint("one too many", nil) {
		t.Error("a hint above the limit was accepted")
	}
	if p, _ := o.next(); p.shared == nil {
		t.Error("the older hint was kept")
	}
}

// queuedFrames returns the number of queued frames of the user's connections.
func (n *node) queuedFrames(user shop.ID) (frames int) {
	for _, c := range n.hub.devices(user) {
		c.mu.Lock()
		frames += len(c.out.queue)
		if c.state != nil {
			frames += len(c.state.held)
		}
		c.mu.Unlock()
	}
	return frames
}

// The framework pools its connection wrappers: a writer that outlives its handler would write into the socket of
// another buyer. Here, connections open and close under heavy load; each must receive only its own events.
func TestConnectionReceivesOnlyItsOwnEvents(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.awaitProven()
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for order := shop.ID(1); ; order++ {
			select {
			case <-stop:
				return
			default:
			}
			for user := shop.ID(1); user <= 4; user++ {
				if n.queuedFrames(user) > maxQueued/4 {
					continue
				}
				o := shop.Order{ID: order*10 + user, User: user, Sale: 1, Rev: 1, State: shop.Pending, Key: "key"}
				lines := shop.AppendChange(nil, &o, OrderFrame(&o))
				m, err := shop.ParseMessage("0 1\n" + string(lines))
				if err != nil || n.hub.deliver(m) != nil {
					t.Errorf("deliver %s: %v", lines, err)
				}
			}
			n.hub.Tick(shop.Millis(order), []shop.Counters{counters(11, int64(order))})
		}
	}()
	// The race detector finds a writer that outlives its connection in about one of sixty closings.
	for range 150 {
		peers := make([]*peer, 4)
		for i := range peers {
			p := n.dial(t)
			p.hello(shop.ID(i+1), "")
			p.mustCall(`"op":"watch"`, nil)
			peers[i] = p
		}
		for i, p := range peers {
			p.conn.Close()
			for _, e := range p.orders() {
				if user := shop.ID(i + 1); e.Order.ID%10 != user {
					t.Errorf("user %s received order %s of another user", user, e.Order.ID)
				}
			}
		}
	}
	close(stop)
	<-stopped
	n.awaitClients(0)
	kit.Eventually(t, testTimeout, func() (bool, string) {
		return len(n.hub.WatchedBy()) == 0 && len(n.hub.devices(1)) == 0, "closed connections are still registered"
	})
}
