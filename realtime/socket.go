package realtime

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	contrib "github.com/gofiber/contrib/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Buffers of an idle connection; frames larger than these pass through without being copied into them.
const (
	readBuffer  = 256
	writeBuffer = 1024
	kernelQueue = 64 << 10 // bytes that the kernel may hold for a client that does not read
)

// Mount serves the socket at path, behind the handlers in front, which may refuse. It sets KeepHijackedConns on the
// server: otherwise Close does nothing and a silent peer cannot be disconnected.
func (h *Hub) Mount(web *fiber.App, path string, front ...fiber.Handler) {
	web.Server().KeepHijackedConns = true
	web.Get(path, append(slices.Clone(front), h.door, h.upgrade())...)
}

// door refuses a handshake: not a WebSocket, another subprotocol, draining, or full.
func (h *Hub) door(c *fiber.Ctx) error {
	if !contrib.IsWebSocketUpgrade(c) {
		return fiber.ErrUpgradeRequired
	}
	if offered := c.Get(fiber.HeaderSecWebSocketProtocol); offered != "" {
		names := strings.Split(offered, ",")
		if !slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(name) == Subprotocol }) {
			return fiber.NewError(fiber.StatusBadRequest, "this server speaks "+Subprotocol)
		}
	}
	if err := h.open(); err != nil {
		c.Set(fiber.HeaderRetryAfter, "1")
		return fiber.NewError(fiber.StatusServiceUnavailable, "this node takes no connections now: "+err.Error())
	}
	return c.Next()
}

func (h *Hub) upgrade() fiber.Handler {
	handler := func(wrapper *contrib.Conn) {
		// When this returns, the wrapper and the request go back into pools; the inner connection is ours.
		go h.serve(wrapper.Conn, forgetHandshake(wrapper))
	}
	upgrade := contrib.New(handler, contrib.Config{
		Subprotocols:    []string{Subprotocol},
		ReadBufferSize:  readBuffer,
		WriteBufferSize: writeBuffer,
		WriteBufferPool: &writeBuffers,
		RecoverHandler:  swallow,
	})
	return func(c *fiber.Ctx) error {
		addr, _ := netip.ParseAddr(c.IP())
		c.Locals(handshake, opened{c.Context(), addr})
		return upgrade(c)
	}
}

// bare returns the connection below the wrapper of a hijacked one.
func bare(conn net.Conn) net.Conn {
	if hijacked, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		return hijacked.UnsafeConn()
	}
	return conn
}

// handshake is the key under which the wrapper carries an opened.
const handshake = "handshake"

// opened is a handshake and its peer.
type opened struct {
	request *fasthttp.RequestCtx
	addr    netip.Addr
}

// forgetHandshake releases request, response and the wrapper's copies, which pools would keep: 5 KB per socket. They
// are replaced, not emptied, because the inner connection uses their text (its subprotocol).
func forgetHandshake(wrapper *contrib.Conn) netip.Addr {
	by := wrapper.Locals(handshake).(opened)
	by.request.Request = fasthttp.Request{}
	by.request.Response = fasthttp.Response{}
	*wrapper = contrib.Conn{Conn: wrapper.Conn}
	return by.addr
}

var writeBuffers sync.Pool

// swallow logs a panic.
func swallow(*contrib.Conn) {
	if p := recover(); p != nil {
		slog.Error("socket handler panicked", "panic", p, "stack", string(debug.Stack()))
	}
}

// serve reads a connection's frames until it ends; when it returns, the connection is closed and unused. Drain waits
// for it from enter to leave.
func (h *Hub) serve(conn *websocket.Conn, addr netip.Addr) {
	defer swallow(nil)
	if bounded, ok := bare(conn.UnderlyingConn()).(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = bounded.SetWriteBuffer(kernelQueue)
	}
	c := newClient(h, conn, addr)
	defer c.release()
	if err := h.enter(c); err != nil { // the last place was taken since door
		code := CloseFull
		if errors.Is(err, errDraining) {
			code = CloseDrain
		}
		c.depart(code)
		c.readAll() // for the peer's close frame
		return
	}
	defer h.leave(c)
	h.closeIfBlocked(c)
	conn.SetPongHandler(func(string) error { c.alive(); return nil })
	conn.SetPingHandler(c.pinged)
	c.helloBy = time.Now().Add(h.options.HelloWithin)
	_ = conn.SetReadDeadline(c.helloBy)
	c.readAll()
}

// apart is how many first frames of a connection get a goroutine of their own. A goroutine keeps its largest stack, 16
// KB after a hello, for the life of the socket; most sockets say hello, watch, and then only receive.
const apart = 2

// readAll handles frames until the connection ends. Frames after our decision to end it are discarded.
func (c *client) readAll() {
	for n := 0; ; n++ {
		kind, frame, err := c.conn.NextReader()
		switch {
		case err != nil:
			c.readEnded(err)
			return
		case c.leaving():
			continue
		case kind != websocket.TextMessage:
			c.depart(CloseBinary)
			continue
		}
		if err := c.readFrame(frame, n < apart); err != nil {
			c.readEnded(err)
			return
		}
	}
}

// frames holds read buffers; a connection has one only while it reads a frame.
var frames = sync.Pool{New: func() any { return new([maxFrame + 1]byte) }}

func (c *client) readFrame(r io.Reader, alone bool) error {
	buffer := frames.Get().(*[maxFrame + 1]byte)
	defer frames.Put(buffer)
	n, err := io.ReadFull(r, buffer[:])
	switch {
	case err == nil:
		c.depart(CloseTooLarge)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && n > 0:
		if !alone {
			c.handle(buffer[:n])
			break
		}
		var handled sync.WaitGroup
		handled.Go(func() { c.handle(buffer[:n]) })
		handled.Wait()
	default:
		return err
	}
	return nil
}

// readEnded ends a connection after a read error. A timeout means no hello in time, or no answer to our close frame.
func (c *client) readEnded(err error) {
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		_ = c.conn.Close() // the peer is gone: do not wait for a write
		return
	}
	c.depart(CloseNoHello)
}

// pinged answers a ping through the outbox. Pings count like ops.
func (c *client) pinged(payload string) error {
	if _, out := c.pace.spend(c.alive()); out {
		c.depart(CloseTooFast)
		return nil
	}
	c.offerPong(payload)
	return nil
}
