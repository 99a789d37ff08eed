package api

import (
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"stampede/app/shop"
)

const (
	socketPath      = "/ws"
	handshakeBuffer = 512 // every socket keeps a buffer of this size
)

// moveHandshake hands the connection of a handshake over to the server of sockets, and reports whether it handled the
// request. A web server keeps its read buffer for the life of a socket: up to 16 KB per idle socket, because browsers
// send long headers. So the handshake is repeated without unused headers to a server with small buffers, and the large
// buffer is released. Handshakes that cannot be repeated are rejected.
func (f *HTTPServer) moveHandshake(ctx *fasthttp.RequestCtx) bool {
	r := &ctx.Request.Header
	if !ctx.IsGet() || !strings.EqualFold(string(r.Peek(fasthttp.HeaderUpgrade)), "websocket") {
		return false // admitSocket rejects it
	}
	handshake, server := repeatHandshake(r), f.sockets
	if len(handshake) > handshakeBuffer {
		server = f.longSockets
	}
	if !r.IsHTTP11() || len(ctx.Request.Body()) > 0 || len(handshake) > headerLimit {
		refuse(ctx, fasthttp.StatusBadRequest, shop.Fail(shop.BadRequest,
			"a handshake needs HTTP/1.1, no body and short headers"))
		return true
	}
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(c net.Conn) {
		conn := c.(interface{ UnsafeConn() net.Conn }).UnsafeConn()
		behind, err := unread(c)
		if err != nil {
			_ = conn.Close() // the peer has closed it
			return
		}
		if err := server.ServeConn(&replayed{Conn: conn, handshake: handshake, behind: behind}); err != nil {
			quiet{}.Printf("handshake: %v", err)
		}
	})
	return true
}

// handshakeHeaders lists the headers that are used later.
var handshakeHeaders = []string{
	fasthttp.HeaderHost, fasthttp.HeaderOrigin, fasthttp.HeaderConnection, fasthttp.HeaderUpgrade, realIP,
	fasthttp.HeaderXForwardedFor, fasthttp.HeaderSecWebSocketVersion, fasthttp.HeaderSecWebSocketKey,
	fasthttp.HeaderSecWebSocketProtocol, fiber.HeaderXRequestID,
}

// repeatHandshake returns the handshake with the headers that are used later.
func repeatHandshake(r *fasthttp.RequestHeader) []byte {
	b := append([]byte("GET "), r.RequestURI()...)
	b = append(b, " HTTP/1.1\r\n"...)
	for _, name := range handshakeHeaders {
		for _, value := range r.PeekAll(name) {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

// unread returns the bytes after the handshake that the server has already read. A deadline in the past prevents
// waiting for more.
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

// replayed is a connection whose reads return the handshake again, then the bytes after it, then the data of the
// connection.
type replayed struct {
	net.Conn
	handshake []byte    // not yet read
	behind    []byte    // not yet read
	writeBy   time.Time // current write deadline; used only by the writer
}

// Read never returns the end of the handshake together with later bytes: a reader whose buffer is empty after the
// handshake returns to its pool.
func (c *replayed) Read(p []byte) (int, error) {
	if len(c.handshake) > 0 {
		n := copy(p, c.handshake)
		c.handshake = c.handshake[n:]
		return n, nil
	}
	c.handshake = nil
	if len(c.behind) == 0 {
		c.behind = nil
		return c.Conn.Read(p)
	}
	n := copy(p, c.behind)
	c.behind = c.behind[n:]
	return n, nil
}

// SetWriteDeadline moves the deadline only after a fifth of its time has passed, so a write has at least four fifths of
// it. Moving it with each frame costs a tenth of the time for writing.
func (c *replayed) SetWriteDeadline(t time.Time) error {
	if left := time.Until(c.writeBy); left > 0 && !t.Before(c.writeBy) && t.Sub(c.writeBy) < left/4 {
		return nil
	}
	c.writeBy = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets the read and the write deadline.
func (c *replayed) SetDeadline(t time.Time) error {
	c.writeBy = t
	return c.Conn.SetDeadline(t)
}

// SetWriteBuffer sets the kernel's send buffer, which limits the data that is buffered for a peer that does not read.
func (c *replayed) SetWriteBuffer(bytes int) error { return setWriteBuffer(c.Conn, bytes) }

func setWriteBuffer(c net.Conn, bytes int) error {
	if bounded, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		return bounded.SetWriteBuffer(bytes)
	}
	return nil
}
