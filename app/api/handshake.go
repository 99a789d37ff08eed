package api

import (
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

const (
	socketPath      = "/ws"
	handshakeBuffer = 512 // every socket keeps a buffer of this size
)

// moveHandshake gives the connection of a handshake to the server of sockets, and reports whether it did.
//
// A web server keeps the buffer that it read a request into for as long as the socket that came of it lasts, and that
// buffer must hold whatever a browser sends along: 4 KB for each idle socket. So the handshake is said again, without
// what nobody asks for, to a server with small buffers, and the large one is let go.
func (f *HTTPServer) moveHandshake(ctx *fasthttp.RequestCtx) bool {
	r := &ctx.Request.Header
	if !ctx.IsGet() || !r.IsHTTP11() || len(ctx.Request.Body()) > 0 ||
		!strings.EqualFold(string(r.Peek(fasthttp.HeaderUpgrade)), "websocket") {
		return false
	}
	handshake := sayAgain(r)
	if len(handshake) > handshakeBuffer {
		return false
	}
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(c net.Conn) {
		conn := c.(interface{ UnsafeConn() net.Conn }).UnsafeConn()
		behind, err := unread(c)
		if err != nil {
			_ = conn.Close() // the peer has gone
			return
		}
		if err := f.sockets.ServeConn(&replayed{Conn: conn, handshake: handshake, behind: behind}); err != nil {
			quiet{}.Printf("handshake: %v", err)
		}
	})
	return true
}

// heardOfHandshake are the headers that somebody behind the front asks for.
var heardOfHandshake = []string{
	fasthttp.HeaderHost, fasthttp.HeaderOrigin, fasthttp.HeaderConnection, fasthttp.HeaderUpgrade, realIP,
	fasthttp.HeaderSecWebSocketVersion, fasthttp.HeaderSecWebSocketKey, fasthttp.HeaderSecWebSocketProtocol,
	fiber.HeaderXRequestID,
}

// sayAgain is the request as the server of sockets gets it.
func sayAgain(r *fasthttp.RequestHeader) []byte {
	b := append([]byte("GET "), r.RequestURI()...)
	b = append(b, " HTTP/1.1\r\n"...)
	for _, name := range heardOfHandshake {
		for _, value := range r.PeekAll(name) {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

// unread takes what the client sent right behind its handshake and the server has read already. The deadline that has
// passed keeps it from waiting for more.
func unread(c net.Conn) ([]byte, error) {
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return nil, err
	}
	var all []byte
	some := make([]byte, handshakeBuffer)
	for {
		n, err := c.Read(some)
		all = append(all, some[:n]...)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return all, c.SetReadDeadline(time.Time{})
		case err != nil:
			return nil, err
		}
	}
}

// replayed is a connection whose reader receives the handshake again, then the bytes that the peer sent directly behind
// it, then the rest of the connection.
type replayed struct {
	net.Conn
	handshake []byte    // not yet read
	behind    []byte    // not yet read
	beyond    bool      // a Read went beyond the handshake
	writeBy   time.Time // the deadline for writing; only the one who writes moves it
}

// Read never returns bytes behind the handshake together with its end, so that the buffer of a handshake's reader holds
// nothing else.
func (c *replayed) Read(p []byte) (int, error) {
	if len(c.handshake) > 0 {
		n := copy(p, c.handshake)
		c.handshake = c.handshake[n:]
		return n, nil
	}
	c.handshake, c.beyond = nil, true
	if len(c.behind) == 0 {
		c.behind = nil
		return c.Conn.Read(p)
	}
	n := copy(p, c.behind)
	c.behind = c.behind[n:]
	return n, nil
}

// HandedOver reports whether exactly the handshake was read: then the web server has buffered nothing else of the
// connection.
func (c *replayed) HandedOver() bool { return len(c.handshake) == 0 && !c.beyond }

// SetWriteDeadline moves the deadline once a fifth of the time has passed, so that a write has at least four fifths of
// it. Who writes frame after frame moves it with each, which costs a tenth of writing.
func (c *replayed) SetWriteDeadline(t time.Time) error {
	if left := time.Until(c.writeBy); left > 0 && !t.Before(c.writeBy) && t.Sub(c.writeBy) < left/4 {
		return nil
	}
	c.writeBy = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets both deadlines to the instant given.
func (c *replayed) SetDeadline(t time.Time) error {
	c.writeBy = t
	return c.Conn.SetDeadline(t)
}

// SetWriteBuffer bounds what the kernel keeps for a peer that does not read, as on the connection itself.
func (c *replayed) SetWriteBuffer(bytes int) error { return setWriteBuffer(c.Conn, bytes) }

func setWriteBuffer(c net.Conn, bytes int) error {
	if bounded, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		return bounded.SetWriteBuffer(bytes)
	}
	return nil
}
