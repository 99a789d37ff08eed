package wsclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fasthttp/websocket"
)

// Dialer configures how sockets are opened and which functions receive the frames. With the zero value, only calls
// receive replies.
type Dialer struct {
	// OnFrame is the callback for every event, and for every reply without a waiting call. It receives one frame at a
	// time. The connection reads no frames while OnFrame runs, so OnFrame may use Conn.Send but must not wait for a
	// reply.
	OnFrame func(*Frame)
	// Seen receives every frame before OnFrame or the waiting call receives it.
	Seen    func(*Frame)
	Origin  string        // origin of a page, "http://host:port"; "": no Origin header
	TLS     *tls.Config   // for https
	From    net.Addr      // local address; nil: the kernel chooses
	Timeout time.Duration // time limit of the handshake; 0: 20 s
	Silence time.Duration // a connection without any frame or ping for this time is closed; 0: no limit
}

// Refused is a handshake that the server, or a proxy in front of it, rejected. The body is readable up to 1 KB.
type Refused struct{ *http.Response }

func (r *Refused) Error() string { return "handshake rejected with status " + r.Status }

// Dial opens a socket to the shop at "http://host:port" or "https://host:port".
func (d *Dialer) Dial(ctx context.Context, shop string) (*Conn, error) {
	dialer := websocket.Dialer{
		HandshakeTimeout: cmp.Or(d.Timeout, 20*time.Second), Subprotocols: []string{Subprotocol},
		TLSClientConfig: d.TLS, NetDialContext: (&net.Dialer{LocalAddr: d.From}).DialContext,
	}
	header := http.Header{}
	if d.Origin != "" {
		header.Set("Origin", d.Origin)
	}
	socket, response, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(shop, "http")+Path, header)
	switch {
	case err != nil && response != nil:
		return nil, &Refused{response}
	case err != nil:
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	_ = response.Body.Close() // empty after a handshake
	c := &Conn{dialer: *d, socket: socket, done: make(chan struct{}), pending: make(map[int64]pendingOp)}
	go c.read()
	return c, nil
}
