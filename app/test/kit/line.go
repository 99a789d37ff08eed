package kit

import (
	"net"
	"sync"
)

// line is one connection through a [Proxy]. It has one pump per direction. It ends when either side closes or the proxy
// resets it.
type line struct {
	proxy  *Proxy
	client *net.TCPConn
	server *net.TCPConn // nil until connected
	once   sync.Once
	ended  chan struct{}

	// mu makes forwarding a request and marking its reply as lost one atomic step for the other pump.
	mu   sync.Mutex
	lose bool
}

func (l *line) run() {
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
func (l *line) reset() {
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

func (l *line) pumpRequests() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := l.client.Read(buffer)
		if err != nil || !l.proxy.pass(l.ended) || !l.forward(buffer[:n]) {
			return
		}
	}
}

func (l *line) forward(request []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.server.Write(request); err != nil {
		return false
	}
	l.lose = l.lose || l.proxy.wantsDrop(request)
	return true
}

// pumpReplies stops at the first reply after a request whose reply must be lost. Clients have one outstanding request
// per connection, so this reply proves that the server executed the request.
func (l *line) pumpReplies() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := l.server.Read(buffer)
		if err != nil || !l.proxy.pass(l.ended) || l.losing() {
			return
		}
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (l *line) losing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lose
}
