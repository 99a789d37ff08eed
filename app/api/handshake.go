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
	handshakeBuffer = 512 // bytes; every socket keeps a buffer of this size
)

// moveHandshake passes the connection of a handshake to the server of sockets. It reports whether it handled the
// request. fasthttp keeps its read buffer until a socket closes: up to 16 KB per idle socket, because browsers send
// long headers. So the handshake is repeated without unused headers to a server with small buffers, and the large
// buffer is released. Handshakes that cannot be repeated are rejected.
func (s *HTTPServer) moveHandshake(ctx *fasthttp.RequestCtx) bool {
	r := &ctx.Request.Header
	if !ctx.IsGet() || !strings.EqualFold(string(r.Peek(fasthttp.HeaderUpgrade)), "websocket") {
		return false // admitSocket rejects the request
	}
	handshake, server := repeatHandshake(r), s.sockets
	if len(handshake) > handshakeBuffer {
		server = s.longSockets
	}
	if !r.IsHTTP11() || len(ctx.Request.Body()) > 0 || len(handshake) > headerLimit {
		writeError(ctx, fasthttp.StatusBadRequest, shop.Fail(shop.BadRequest,
			"a handshake needs HTTP/1.1, no body and short headers"))
		return true
	}
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(c net.Conn) {
		conn := c.(interface{ UnsafeConn() net.Conn }).UnsafeConn()
		pending, err := readPending(c)
		if err != nil {
			_ = conn.Close() // the peer has closed the connection
			return
		}
		if err := server.ServeConn(&replayedConn{Conn: conn, handshake: handshake, pending: pending}); err != nil {
			debugLogger{}.Printf("handshake: %v", err)
		}
	})
	return true
}

// handshakeHeaders lists the headers that the repeated handshake contains.
var handshakeHeaders = []string{
	fasthttp.HeaderHost, fasthttp.HeaderOrigin, fasthttp.HeaderConnection, fasthttp.HeaderUpgrade, realIP,
	fasthttp.HeaderXForwardedFor, fasthttp.HeaderSecWebSocketVersion, fasthttp.HeaderSecWebSocketKey,
	fasthttp.HeaderSecWebSocketProtocol, fiber.HeaderXRequestID,
}

// repeatHandshake returns the text of the handshake with only the headers in handshakeHeaders.
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

// readPending returns the bytes after the handshake that the server has already read. A deadline in the past prevents
// waiting for more.
func readPending(c net.Conn) ([]byte, error) {
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return nil, err
	}
	var all []byte
	chunk := make([]byte, handshakeBuffer)
	for {
		n, err := c.Read(chunk)
		all = append(all, chunk[:n]...)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return all, c.SetReadDeadline(time.Time{})
		case err != nil:
			return nil, err
		}
	}
}

// replayedConn is a connection whose reads return the handshake again, then the bytes after it, then the data of the
// connection.
type replayedConn struct {
	net.Conn
	handshake     []byte    // not yet read
	pending       []byte    // not yet read
	writeDeadline time.Time // current write deadline; used only by the writer
}

// Read never returns the end of the handshake together with later bytes: a reader whose buffer is empty after the
// handshake returns to its pool.
func (c *replayedConn) Read(p []byte) (int, error) {
	if len(c.handshake) > 0 {
		n := copy(p, c.handshake)
		c.handshake = c.handshake[n:]
		return n, nil
	}
	c.handshake = nil
	if len(c.pending) == 0 {
		c.pending = nil
		return c.Conn.Read(p)
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

// SetWriteDeadline moves the deadline only after a fifth of its time has passed, so a write has at least four fifths of
// it. Moving it with each frame costs a tenth of the time for writing.
func (c *replayedConn) SetWriteDeadline(t time.Time) error {
	if left := time.Until(c.writeDeadline); left > 0 && !t.Before(c.writeDeadline) && t.Sub(c.writeDeadline) < left/4 {
		return nil
	}
	c.writeDeadline = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets the read and the write deadline.
func (c *replayedConn) SetDeadline(t time.Time) error {
	c.writeDeadline = t
	return c.Conn.SetDeadline(t)
}

// SetWriteBuffer sets the kernel's send buffer, which limits the data that is buffered for a peer that does not read.
func (c *replayedConn) SetWriteBuffer(bytes int) error { return setWriteBuffer(c.Conn, bytes) }

func setWriteBuffer(c net.Conn, bytes int) error {
	if buffered, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		return buffered.SetWriteBuffer(bytes)
	}
	return nil
}
