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

// Proxy is a wire between the program and one server that can be cut, stalled, slowed down, or made
// to lose replies. Settings hold for open and for new connections. Safe for concurrent use.
type Proxy struct {
	Addr string // where the proxy listens, host:port
	URL  string // what NewProxy was given, with the proxy's address

	t        testing.TB
	listener net.Listener
	lines    sync.WaitGroup

	mu      sync.Mutex
	target  string        // host:port of the server
	changed chan struct{} // closed and replaced when a setting changes
	open    map[*line]struct{}
	closed  bool
	cut     bool
	stalled bool
	delay   time.Duration
	pattern []byte
	drops   int // replies still to lose
	dropped int
}

// NewProxy puts a proxy in front of the server of a URL (redis://…, ws://…) or MySQL DSN. It ends with the test.
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
		open:     make(map[*line]struct{}),
	}
	if p.target, err = address(target); err != nil {
		listener.Close()
		t.Fatalf("kit: proxy to %q: %v", target, err)
	}
	p.t, p.URL = t, strings.Replace(target, p.target, p.Addr, 1)
	p.lines.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// address finds host:port in a URL or a DSN.
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

// Cut resets all connections and every new one, until Restore.
func (p *Proxy) Cut() {
	p.set(func() { p.cut = true })
	p.closeLines()
}

// Stall keeps connections open and lets no byte through in either direction, until Restore.
func (p *Proxy) Stall() { p.set(func() { p.stalled = true }) }

// Delay holds each piece of up to 32 KB back for d, in each direction: a round trip takes 2d longer.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// DropReplies loses the replies to the next n requests that contain the pattern, in any letter case
// ("evalsha", "commit"): the server has the request and carries it out, the client sees its connection
// close. A pattern must lie within one write of the client.
func (p *Proxy) DropReplies(pattern string, n int) {
	p.set(func() { p.pattern, p.drops = bytes.ToLower([]byte(pattern)), n })
}

// Dropped is how many replies were lost since the start.
func (p *Proxy) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Restore ends whatever Cut, Stall, Delay and DropReplies began.
func (p *Proxy) Restore() {
	p.set(func() { p.cut, p.stalled, p.delay, p.drops = false, false, 0, 0 })
}

// Redirect resets all connections; new ones go to the server of this URL or DSN.
func (p *Proxy) Redirect(target string) {
	p.t.Helper()
	address, err := address(target)
	if err != nil {
		p.t.Fatalf("kit: proxy to %q: %v", target, err)
	}
	p.set(func() { p.target = address })
	p.closeLines()
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
	p.closeLines()
	p.lines.Wait()
}

func (p *Proxy) closeLines() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.reset()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.lines.Go(func() { p.serve(client) })
	}
}

// serve carries one connection until either side ends it.
func (p *Proxy) serve(client net.Conn) {
	l := &line{proxy: p, client: client.(*net.TCPConn), ended: make(chan struct{})}
	defer l.reset()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	upstream, err := net.DialTimeout("tcp4", target, 5*time.Second)
	if err != nil {
		return
	}
	l.server = upstream.(*net.TCPConn)
	if !p.join(l, target) {
		return
	}
	defer p.leave(l)
	l.run()
}

// join makes the line known, so that Cut reaches it; false when the wire is cut or leads elsewhere by now.
func (p *Proxy) join(l *line, target string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut || p.closed || p.target != target {
		return false
	}
	p.open[l] = struct{}{}
	return true
}

func (p *Proxy) leave(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, l)
}

// wantsDrop takes one of the replies to lose if the request matches.
func (p *Proxy) wantsDrop(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drops == 0 || !bytes.Contains(bytes.ToLower(request), p.pattern) {
		return false
	}
	p.drops--
	p.dropped++
	return true
}

// pass waits as long as the settings say; false when the line ended meanwhile.
func (p *Proxy) pass(ended <-chan struct{}) bool {
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
