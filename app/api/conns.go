package api

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// LimitConns wraps a listener so that one address has at most n connections at a time, sockets included; one
// more is closed at once. IPv6 clients are counted by their /64. Proxies, who bring everybody, are exempt.
func LimitConns(l net.Listener, n int, exempt []netip.Prefix) net.Listener {
	return &limitedListener{Listener: l, most: n, exempt: exempt, open: make(map[netip.Addr]int)}
}

type limitedListener struct {
	net.Listener
	most   int
	exempt []netip.Prefix

	mu   sync.Mutex
	open map[netip.Addr]int
}

// Accept answers the next connection whose address has not got too many.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		addr, counted := l.counted(conn.RemoteAddr())
		if !counted {
			return conn, nil
		}
		if l.enter(addr) {
			return &limitedConn{Conn: conn, from: l, addr: addr}, nil
		}
		_ = conn.Close() // nothing was said on it yet
	}
}

// counted is the address under which a connection counts, unless it is exempt.
func (l *limitedListener) counted(remote net.Addr) (netip.Addr, bool) {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	addr := tcp.AddrPort().Addr().Unmap()
	for _, p := range l.exempt {
		if p.Contains(addr) {
			return addr, false
		}
	}
	return household(addr), true
}

// household is the address that stands for all of one customer: an IPv6 customer has a whole /64.
func household(addr netip.Addr) netip.Addr {
	if addr = addr.Unmap(); addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return addr
}

func (l *limitedListener) enter(addr netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[addr] >= l.most {
		return false
	}
	l.open[addr]++
	return true
}

func (l *limitedListener) leave(addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[addr]--; l.open[addr] <= 0 {
		delete(l.open, addr)
	}
}

type limitedConn struct {
	net.Conn
	from *limitedListener
	addr netip.Addr
	left atomic.Bool
}

// Close frees the place of the connection, once.
func (c *limitedConn) Close() error {
	if c.left.CompareAndSwap(false, true) {
		c.from.leave(c.addr)
	}
	return c.Conn.Close()
}

// SetWriteBuffer bounds what the kernel keeps for a peer that does not read, as on the connection itself.
func (c *limitedConn) SetWriteBuffer(bytes int) error { return setWriteBuffer(c.Conn, bytes) }
