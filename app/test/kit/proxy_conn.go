package kit

import (
	"net"
	"sync"
)

// proxyConn is one connection through a [Proxy]. It has one pump per direction. It ends when either side closes or the
// proxy resets it.
type proxyConn struct {
	proxy  *Proxy
	client *net.TCPConn
	server *net.TCPConn // nil until connected
	once   sync.Once
	ended  chan struct{}

	// mu makes forwarding a request and marking its reply as lost one atomic step for the other pump.
	mu        sync.Mutex
	dropReply bool
}

func (l *proxyConn) run() {
	var requests sync.WaitGroup
	requests.Go(func() {
		defer l.reset()
		l.pumpRequests()
	})
	l.pumpReplies()
	l.reset()
	requests.Wait()
}

// reset closes both sides with a RST.
func (l *proxyConn) reset() {
	l.once.Do(func() {
		close(l.ended)
		_ = l.client.SetLinger(0)
		_ = l.client.Close()
		if l.server != nil {
			_ = l.server.SetLinger(0)
			_ = l.server.Close()
		}
	})
}

func (l *proxyConn) pumpRequests() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := l.client.Read(buffer)
		if err != nil || !l.proxy.waitForward(l.ended) || !l.forward(buffer[:n]) {
			return
		}
	}
}

func (l *proxyConn) forward(request []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.server.Write(request); err != nil {
		return false
	}
	l.dropReply = l.dropReply || l.proxy.shouldDrop(request)
	return true
}

// pumpReplies stops at the first reply after a request whose reply must be lost. Clients have one outstanding request
// per connection, so this reply proves that the server executed the request.
func (l *proxyConn) pumpReplies() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := l.server.Read(buffer)
		if err != nil || !l.proxy.waitForward(l.ended) || l.dropsReply() {
			return
		}
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (l *proxyConn) dropsReply() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropReply
}
