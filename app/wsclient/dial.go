package wsclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fasthttp/websocket"
)

// Dialer says how sockets are opened and who hears what comes on them. The zero value comes from nowhere in particular
// and hears answers only.
type Dialer struct {
	// Heard gets every event, and every answer that no call waits for, one at a time. While it does not return nothing
	// else is read, so it must not make calls on its connection; it may Send.
	Heard func(*Frame)
	// Origin is the page's, "http://host:port"; "": none, as of a program that is no browser.
	Origin string
	// TLS is for https.
	TLS *tls.Config
	// From is the address to come from; nil: the kernel's choice.
	From net.Addr
	// Timeout ends a handshake; 0: after 20 s.
	Timeout time.Duration
	// Silence ends a connection on which nothing comes, not even a ping, for so long; 0: nothing does.
	Silence time.Duration
}

// Dial opens a socket to the shop at "http://host:port" or "https://host:port". A handshake that was answered with
// anything but an upgrade is a *Refused.
func (d *Dialer) Dial(ctx context.Context, shop string) (*Conn, error) {
	dialer := websocket.Dialer{
		HandshakeTimeout: d.Timeout, Subprotocols: []string{Subprotocol}, TLSClientConfig: d.TLS,
		NetDialContext: (&net.Dialer{LocalAddr: d.From}).DialContext,
	}
	if d.Timeout == 0 {
		dialer.HandshakeTimeout = 20 * time.Second
	}
	header := http.Header{}
	if d.Origin != "" {
		header.Set("Origin", d.Origin)
	}
	socket, response, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(shop, "http")+Path, header)
	switch {
	case err != nil && response != nil:
		return nil, &Refused{response, err}
	case err != nil:
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	_ = response.Body.Close() // nothing is left in it after a handshake
	c := &Conn{
		socket: socket, heard: d.Heard, silence: d.Silence, done: make(chan struct{}), asked: make(map[int64]question),
	}
	go c.read()
	return c, nil
}
