package kit

import (
	"bytes"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Proxy is a TCP proxy between the program and one server. It can cut, stall or delay connections and lose replies.
// Settings apply to open and new connections. It is safe for concurrent use.
type Proxy struct {
	Addr string // host:port on which the proxy listens
	URL  string // the target of NewProxy with the proxy's address

	t        testing.TB
	listener net.Listener
	running  sync.WaitGroup

	mu        sync.Mutex
	target    string        // host:port of the server
	changed   chan struct{} // closed and replaced when a setting changes
	open      map[*proxyConn]struct{}
	closed    bool
	cut       bool
	stalled   bool
	delay     time.Duration
	pattern   []byte
	dropsLeft int // number of replies still to lose
	dropped   int
}

// NewProxy starts a proxy in front of the server of a URL (redis://…, ws://…) or a MySQL DSN. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("kit: proxy: %v", err)
	}
	p := &Proxy{
		Addr:     listener.Addr().String(),
		listener: listener,
		changed:  make(chan struct{}),
		open:     make(map[*proxyConn]struct{}),
	}
	if p.target, err = address(target); err != nil {
		listener.Close()
		t.Fatalf("kit: proxy to %q: %v", target, err)
	}
	p.t, p.URL = t, strings.Replace(target, p.target, p.Addr, 1)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// address returns the host:port of a URL or DSN.
func address(target string) (string, error) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return "", err
		}
		return u.Host, nil
	}
	cfg, err := mysql.ParseDSN(target)
	if err != nil {
		return "", err
	}
	return cfg.Addr, nil
}

// Cut resets all connections and rejects new ones until Restore.
func (p *Proxy) Cut() {
	p.set(func() { p.cut = true })
	p.closeConns()
}

// Stall keeps connections open but forwards no bytes in either direction until Restore.
func (p *Proxy) Stall() { p.set(func() { p.stalled = true }) }

// Delay delays each read of up to 32 KB by d in each direction, so a round trip takes 2d longer.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// DropReplies loses the replies to the next n requests that contain pattern ("evalsha", "commit"; case-insensitive).
// The server executes the request; the client sees a reset connection. The pattern must lie within one write of the
// client.
func (p *Proxy) DropReplies(pattern string, n int) {
	p.set(func() { p.pattern, p.dropsLeft = bytes.ToLower([]byte(pattern)), n })
}

// Dropped returns the number of requests whose reply was dropped since the start.
func (p *Proxy) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Restore ends the effects of Cut, Stall, Delay and DropReplies.
func (p *Proxy) Restore() {
	p.set(func() { p.cut, p.stalled, p.delay, p.dropsLeft = false, false, 0, 0 })
}

// Redirect resets all connections and connects new ones to the server of target, a URL or DSN.
func (p *Proxy) Redirect(target string) {
	p.t.Helper()
	address, err := address(target)
	if err != nil {
		p.t.Fatalf("kit: proxy to %q: %v", target, err)
	}
	p.set(func() { p.target = address })
	p.closeConns()
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) close() {
	p.set(func() { p.closed = true })
	p.listener.Close()
	p.closeConns()
	p.running.Wait()
}

func (p *Proxy) closeConns() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.reset()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve forwards one connection until either side closes it.
func (p *Proxy) serve(client net.Conn) {
	c := &proxyConn{proxy: p, client: client.(*net.TCPConn), ended: make(chan struct{})}
	defer c.reset()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	upstream, err := net.DialTimeout("tcp4", target, 5*time.Second)
	if err != nil {
		return
	}
	c.server = upstream.(*net.TCPConn)
	if !p.register(c, target) {
		return
	}
	defer p.unregister(c)
	c.run()
}

// register registers the connection so that Cut can reset it. It returns false if the proxy is cut, closed or
// redirected.
func (p *Proxy) register(c *proxyConn, target string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut || p.closed || p.target != target {
		return false
	}
	p.open[c] = struct{}{}
	return true
}

func (p *Proxy) unregister(c *proxyConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// shouldDrop reports whether the reply to the request must be lost, and counts it.
func (p *Proxy) shouldDrop(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropsLeft == 0 || !bytes.Contains(bytes.ToLower(request), p.pattern) {
		return false
	}
	p.dropsLeft--
	p.dropped++
	return true
}

// waitForward waits for the delay and until the proxy is not stalled. It returns false if the connection
// has ended meanwhile.
func (p *Proxy) waitForward(ended <-chan struct{}) bool {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ended:
			return false
		}
	}
	for {
		p.mu.Lock()
		stalled, changed := p.stalled, p.changed
		p.mu.Unlock()
		if !stalled {
			return true
		}
		select {
		case <-changed:
		case <-ended:
			return false
		}
	}
}
