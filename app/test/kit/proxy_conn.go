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

func (c *proxyConn) run() {
	var requests sync.WaitGroup
	requests.Go(func() {
		defer c.reset()
		c.pumpRequests()
	})
	c.pumpReplies()
	c.reset()
	requests.Wait()
}

// reset closes both sides with a RST.
func (c *proxyConn) reset() {
	c.once.Do(func() {
		close(c.ended)
		_ = c.client.SetLinger(0)
		_ = c.client.Close()
		if c.server != nil {
			_ = c.server.SetLinger(0)
			_ = c.server.Close()
		}
	})
}

func (c *proxyConn) pumpRequests() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.client.Read(buffer)
		if err != nil || !c.proxy.waitForward(c.ended) || !c.forward(buffer[:n]) {
			return
		}
	}
}

func (c *proxyConn) forward(request []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.server.Write(request); err != nil {
		return false
	}
	c.dropReply = c.dropReply || c.proxy.shouldDrop(request)
	return true
}

// pumpReplies stops at the first reply after a request whose reply must be lost. Clients have one outstanding request
// per connection, so this reply proves that the server executed the request.
func (c *proxyConn) pumpReplies() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.server.Read(buffer)
		if err != nil || !c.proxy.waitForward(c.ended) || c.dropsReply() {
			return
		}
		if _, err := c.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (c *proxyConn) dropsReply() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropReply
}
