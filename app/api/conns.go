package api

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"stampede/app/limits"
)

// LimitConns wraps a listener so that one address has at most n connections, including sockets. Further connections are
// closed immediately. The limit of an IPv6 /48 is shop.WideFactor times as high. A connection of a proxy is not counted
// until it becomes the socket of a client (see countForClient).
func LimitConns(l net.Listener, n int, proxies []netip.Prefix) net.Listener {
	return &limitedListener{Listener: l, proxies: proxies, open: limits.Places{Addr: n}}
}

type limitedListener struct {
	net.Listener
	proxies []netip.Prefix
	warned  time.Time // of the last warning about exhausted descriptors; used by Accept only

	mu   sync.Mutex // also protects the fields of all its connections
	open limits.Places
}

// acceptPause is the pause before the next attempt while no descriptor is free. Connections wait in the kernel.
const acceptPause = 100 * time.Millisecond

// Accept returns the next connection whose address is within its limit. It waits while the process has no descriptor or
// the system no memory for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if isExhausted(err) {
			if now := time.Now(); now.Sub(l.warned) > time.Minute {
				l.warned = now
				slog.Error("connections wait, because this process has no free descriptor: raise LimitNOFILE of its unit"+
					" (ulimit -n), or lower STAMPEDE_MAX_CONNS", "err", err)
			}
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			return nil, err
		}
		c := &limitedConn{Conn: conn, listener: l}
		if addr, isTCP := peerOf(conn); !isTCP || l.isProxy(addr) || c.enter(addr) {
			return c, nil
		}
		_ = conn.Close()
	}
}

// isExhausted reports whether a later attempt to accept may succeed.
func isExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM)
}

func peerOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return tcp.AddrPort().Addr().Unmap(), true
}

func (l *limitedListener) isProxy(addr netip.Addr) bool {
	return slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

type limitedConn struct {
	net.Conn
	listener *limitedListener

	addr   netip.Addr // the address that is counted; zero: not counted
	closed bool
}

// enter counts the connection for the address, and reports whether it is within the limit.
func (c *limitedConn) enter(addr netip.Addr) bool {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed || !l.open.HasRoom(0, addr) {
		return false
	}
	l.open.Add(0, addr, 1)
	c.addr = addr
	return true
}

// leave removes the connection from the count.
func (c *limitedConn) leave(closed bool) {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	c.closed = c.closed || closed
	if c.addr.IsValid() {
		l.open.Add(0, c.addr, -1)
		c.addr = netip.Addr{}
	}
}

// Close removes the connection from the count and closes it.
func (c *limitedConn) Close() error {
	c.leave(true)
	return c.Conn.Close()
}

// SetWriteBuffer sets the kernel's send buffer, which limits the data that is buffered for a peer that does not read.
func (c *limitedConn) SetWriteBuffer(bytes int) error { return setWriteBuffer(c.Conn, bytes) }

// countForClient counts a connection of a proxy for the client whose socket the connection becomes. withinLimit reports
// whether the client is within its limit. A connection without a proxy is already counted; for it withinLimit is true.
// undo removes the connection from the count if it does not become a socket.
func countForClient(conn net.Conn, client netip.Addr) (undo func(), withinLimit bool) {
	if replay, ok := conn.(*replayedConn); ok {
		conn = replay.Conn
	}
	c, ok := conn.(*limitedConn)
	if !ok {
		return func() {}, true
	}
	if peer, isTCP := peerOf(c.Conn); !isTCP || !c.listener.isProxy(peer) {
		return func() {}, true
	}
	c.leave(false)
	return func() { c.leave(false) }, c.enter(client)
}
