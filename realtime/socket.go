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

// Buffers of an idle connection in bytes. Larger frames bypass them.
const (
	readBuffer  = 256
	writeBuffer = 1024
	kernelQueue = 64 << 10 // send buffer in the kernel for a client that does not read
)

// Mount serves the socket at path. The handlers of middleware run first and may reject the handshake. Mount sets
// KeepHijackedConns on the server. Without this option, Close has no effect on a socket and a silent peer cannot be
// disconnected.
func (h *Hub) Mount(web *fiber.App, path string, middleware ...fiber.Handler) {
	web.Server().KeepHijackedConns = true
	web.Get(path, append(slices.Clone(middleware), h.checkHandshake, h.upgrade())...)
}

// checkHandshake rejects a handshake if it is not a WebSocket upgrade or requests another subprotocol, or if the node
// is draining or full.
func (h *Hub) checkHandshake(c *fiber.Ctx) error {
	if !contrib.IsWebSocketUpgrade(c) {
		return fiber.ErrUpgradeRequired
	}
	if offered := c.Get(fiber.HeaderSecWebSocketProtocol); offered != "" {
		names := strings.Split(offered, ",")
		if !slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(name) == Subprotocol }) {
			return fiber.NewError(fiber.StatusBadRequest, "unknown subprotocol; this server supports "+Subprotocol)
		}
	}
	if err := h.checkOpen(); err != nil {
		c.Set(fiber.HeaderRetryAfter, "1")
		return fiber.NewError(fiber.StatusServiceUnavailable, "this node accepts no connections now: "+err.Error())
	}
	return c.Next()
}

func (h *Hub) upgrade() fiber.Handler {
	handler := func(wrapper *contrib.Conn) {
		// After this function returns, the wrapper and the request return to pools. The inner connection stays valid.
		go h.serve(wrapper.Conn, releaseHandshake(wrapper))
	}
	upgrade := contrib.New(handler, contrib.Config{
		Subprotocols:    []string{Subprotocol},
		ReadBufferSize:  readBuffer,
		WriteBufferSize: writeBuffer,
		WriteBufferPool: &writeBuffers,
		RecoverHandler:  logPanic,
	})
	return func(c *fiber.Ctx) error {
		addr, _ := netip.ParseAddr(c.IP())
		c.Locals(handshake, handshakeRequest{c.Context(), addr})
		return upgrade(c)
	}
}

// unwrapConn returns the connection inside the wrapper of a hijacked connection.
func unwrapConn(conn net.Conn) net.Conn {
	if hijacked, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		return hijacked.UnsafeConn()
	}
	return conn
}

// handshake is the key in Locals of the handshakeRequest.
const handshake = "handshake"

// handshakeRequest is a handshake request with the address of its peer.
type handshakeRequest struct {
	request *fasthttp.RequestCtx
	addr    netip.Addr
}

// releaseHandshake releases the request, the response and the copies in the wrapper (5 KB per socket), which the pools
// would keep. It replaces these values instead of clearing them, because the inner connection refers to their text (the
// subprotocol). It returns the address of the peer.
func releaseHandshake(wrapper *contrib.Conn) netip.Addr {
	r := wrapper.Locals(handshake).(handshakeRequest)
	r.request.Request = fasthttp.Request{}
	r.request.Response = fasthttp.Response{}
	*wrapper = contrib.Conn{Conn: wrapper.Conn}
	return r.addr
}

var writeBuffers sync.Pool

// logPanic recovers from a panic and logs it.
func logPanic(*contrib.Conn) {
	if p := recover(); p != nil {
		slog.Error("socket handler panicked", "panic", p, "stack", string(debug.Stack()))
	}
}

// serve reads the frames of a connection until it ends. When serve returns, the connection is closed and no goroutine
// uses it. Drain waits for the time from enter to leave.
func (h *Hub) serve(conn *websocket.Conn, addr netip.Addr) {
	defer logPanic(nil)
	if socket, ok := unwrapConn(conn.UnderlyingConn()).(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = socket.SetWriteBuffer(kernelQueue)
	}
	c := newClient(h, conn, addr)
	defer c.release()
	if err := h.enter(c); err != nil { // another connection took the last place after checkHandshake
		code := CloseFull
		if errors.Is(err, errDraining) {
			code = CloseDrain
		}
		c.startClose(code)
		c.readAll() // receive the close frame of the peer
		return
	}
	defer h.leave(c)
	h.closeIfBlocked(c)
	conn.SetPongHandler(func(string) error { c.markAlive(); return nil })
	conn.SetPingHandler(c.onPing)
	c.helloDeadline = time.Now().Add(h.options.HelloWithin)
	_ = conn.SetReadDeadline(c.helloDeadline)
	c.readAll()
}

// separateFrames is the number of first frames that run in a separate goroutine. A goroutine keeps its largest stack
// for its whole life (16 KB after a hello). Most sockets send hello and watch, and then only receive.
const separateFrames = 2

// readAll handles frames until the connection ends. It discards frames after the server has decided to close.
func (c *client) readAll() {
	for n := 0; ; n++ {
		kind, frame, err := c.conn.NextReader()
		switch {
		case err != nil:
			c.handleReadError(err)
			return
		case c.isClosing():
			continue
		case kind != websocket.TextMessage:
			c.startClose(CloseBinary)
			continue
		}
		if err := c.readFrame(frame, n < separateFrames); err != nil {
			c.handleReadError(err)
			return
		}
	}
}

// frames pools read buffers. A connection holds a buffer only while it handles a frame.
var frames = sync.Pool{New: func() any { return new([maxFrame + 1]byte) }}

func (c *client) readFrame(r io.Reader, separate bool) error {
	buffer := frames.Get().(*[maxFrame + 1]byte)
	defer frames.Put(buffer)
	n, err := io.ReadFull(r, buffer[:])
	switch {
	case err == nil:
		c.startClose(CloseTooLarge)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && n > 0:
		if !separate {
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

// handleReadError ends a connection after a read error. A timeout means that no hello or no close frame arrived in
// time.
func (c *client) handleReadError(err error) {
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		_ = c.conn.Close() // the peer has disconnected: do not wait for a write
		return
	}
	c.startClose(CloseNoHello)
}

// onPing queues a pong for a ping. Pings count like ops.
func (c *client) onPing(payload string) error {
	if _, exhausted := c.pace.spend(c.markAlive()); exhausted {
		c.startClose(CloseTooFast)
		return nil
	}
	c.offerPong(payload)
	return nil
}
