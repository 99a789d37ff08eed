package api

import (
	"net"
	"net/netip"
	"slices"
	"sync"

	"stampede/app"
)

// LimitConns wraps a listener so that one address has at most n connections at a time, sockets included; one more is
// closed at once, and so is any of an address that is blocked. IPv6 clients are counted by their /64. Proxies bring
// everybody: their connections count for nobody, until one of them becomes the socket of a client (countFor).
func LimitConns(l net.Listener, n int, proxies []netip.Prefix, blocked func(addr netip.Addr) bool) net.Listener {
	return &limitedListener{Listener: l, most: n, proxies: proxies, blocked: blocked, open: make(map[netip.Addr]int)}
}

type limitedListener struct {
	net.Listener
	most    int
	proxies []netip.Prefix
	blocked func(addr netip.Addr) bool

	mu   sync.Mutex // also of the fields of all its connections
	open map[netip.Addr]int
}

// Accept answers the next connection whose address has not got too many.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &limitedConn{Conn: conn, from: l}
		if addr, is := peerOf(conn); !is || l.trusts(addr) || !l.blocked(addr) && c.enter(app.CustomerAddr(addr)) {
			return c, nil
		}
		_ = conn.Close() // nothing was said on it yet
	}
}

func peerOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return tcp.AddrPort().Addr().Unmap(), true
}

func (l *limitedListener) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

type limitedConn struct {
	net.Conn
	from *limitedListener

	addr   netip.Addr // for whom it counts; zero: for nobody
	closed bool
}

// enter counts the connection for the address, unless that has too many.
func (c *limitedConn) enter(addr netip.Addr) bool {
	l := c.from
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed || l.open[addr] >= l.most {
		return false
	}
	l.open[addr]++
	c.addr = addr
	return true
}

// leave counts the connection for nobody any more.
func (c *limitedConn) leave(closed bool) {
	l := c.from
	l.mu.Lock()
	defer l.mu.Unlock()
	c.closed = c.closed || closed
	if !c.addr.IsValid() {
		return
	}
	if l.open[c.addr]--; l.open[c.addr] <= 0 {
		delete(l.open, c.addr)
	}
	c.addr = netip.Addr{}
}

// Close frees the place of the connection, once.
func (c *limitedConn) Close() error {
	c.leave(true)
	return c.Conn.Close()
}

// SetWriteBuffer bounds what the kernel keeps for a peer that does not read, as on the connection itself.
func (c *limitedConn) SetWriteBuffer(bytes int) error { return setWriteBuffer(c.Conn, bytes) }

// countFor counts a connection that a proxy opened for the client whose socket it becomes, and reports whether there
// is room. One that the client opened itself is counted already. undo removes it from the count again if it
// does not become a socket.
func countFor(conn net.Conn, client netip.Addr) (undo func(), room bool) {
	if again, ok := conn.(*replayed); ok {
		conn = again.Conn
	}
	c, ok := conn.(*limitedConn)
	if !ok {
		return func() {}, true
	}
	if peer, is := peerOf(c.Conn); !is || !c.from.trusts(peer) {
		return func() {}, true
	}
	c.leave(false)
	return func() { c.leave(false) }, c.enter(client)
}
