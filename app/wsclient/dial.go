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

// Dialer says how sockets are opened and who hears what comes on them. The zero value hears answers only.
type Dialer struct {
	// Heard gets every event, and every answer that no call waits for, one at a time. Nothing is read while it lasts,
	// so it must make no calls on its connection; it may Send.
	Heard func(*Frame)
	// Seen gets every frame before anybody else does, also the answers that calls wait for.
	Seen    func(*Frame)
	Origin  string        // of a page, "http://host:port"; "": none, as of a program that is no browser
	TLS     *tls.Config   // for https
	From    net.Addr      // the address to come from; nil: the kernel's choice
	Timeout time.Duration // of the handshake; 0: 20 s
	Silence time.Duration // ends a connection on which nothing comes, not even a ping; 0: never
}

// Refused is a handshake that the server, or a proxy before it, did not grant. The body can be read, up to 1 KB.
type Refused struct{ *http.Response }

func (r *Refused) Error() string { return "the handshake was answered " + r.Status }

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
	_ = response.Body.Close() // nothing is left in it after a handshake
	c := &Conn{dialer: *d, socket: socket, done: make(chan struct{}), asked: make(map[int64]question)}
	go c.read()
	return c, nil
}
