package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"stampede/app/shop"
)

const (
	readTimeout  = 10 * time.Second
	writeTimeout = 15 * time.Second
	bodyLimit    = 16 << 10 // bytes
	headerLimit  = 4 << 10  // bytes; the minimum of the setting, and the limit of a handshake
	drainRetry   = 2 * time.Second
)

// HTTPServer is the HTTP server.
type HTTPServer struct {
	// Ready returns the reason why this node should get no traffic, or nil.
	Ready func() error
	// Handler serves all requests except health; nil: this node serves only health.
	Handler fasthttp.RequestHandler
	// IsOperator reports whether a token belongs to an operator. Operators may send bodies longer than bodyLimit on
	// their routes. It is called before the body is read, so rejected bodies take no memory.
	IsOperator func(token string) bool

	server *fasthttp.Server
	// sockets serves moved handshakes of up to handshakeBuffer bytes, longSockets of up to headerLimit bytes.
	sockets, longSockets *fasthttp.Server
}

// NewHTTPServer creates a server. Its exported fields must be set before Serve. header is the limit of request headers
// in bytes; idle is the timeout of connections without a request.
func NewHTTPServer(header int, idle time.Duration) *HTTPServer {
	s := &HTTPServer{}
	s.server = newServer(s.handle, header, idle)
	s.server.HeaderReceived = s.configure
	s.sockets = newServer(s.handleHandshake, handshakeBuffer, idle)
	s.longSockets = newServer(s.handleHandshake, headerLimit, idle)
	return s
}

// newServer creates one of the web servers. No server may stream bodies, and each must use ReduceMemoryUsage. Otherwise
// a server continues to read the connection of a socket after its handler has returned (see replayedConn).
func newServer(handler fasthttp.RequestHandler, buffer int, idle time.Duration) *fasthttp.Server {
	return &fasthttp.Server{
		Handler: handler, ErrorHandler: handleParseError, Name: "stampede",
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idle,
		MaxRequestBodySize: bodyLimit, ReadBufferSize: buffer,
		NoDefaultServerHeader: true, NoDefaultDate: false, ReduceMemoryUsage: true, CloseOnShutdown: true,
		// Sockets stay open longer than their request; without this option, Close does not close them.
		KeepHijackedConns: true,
		Logger:            debugLogger{},
		// Parsed forms need more memory than their length, and their raw body is lost.
		DisablePreParseMultipartForm: true,
	}
}

// Serve serves requests on the listener until Shutdown.
func (s *HTTPServer) Serve(l net.Listener) error {
	if err := s.server.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve HTTP on %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown stops listening and waits for running requests, but not for sockets.
func (s *HTTPServer) Shutdown(ctx context.Context) error {
	if err := s.server.ShutdownWithContext(ctx); err != nil {
		return fmt.Errorf("shut down HTTP: %w", err)
	}
	return nil
}

func (s *HTTPServer) handle(ctx *fasthttp.RequestCtx) {
	setRequestID(ctx)
	setSecurityHeaders(ctx)
	if encoded(&ctx.Request.Header) {
		s.forward(ctx) // the handler of the shop rejects it
		return
	}
	switch string(ctx.Path()) {
	case "/healthz":
		ctx.SetBodyString("ok\n")
	case "/readyz":
		if err := s.Ready(); err != nil {
			ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
			ctx.SetBodyString(err.Error() + "\n")
			return
		}
		ctx.SetBodyString("ready\n")
	case socketPath:
		if !s.moveHandshake(ctx) {
			s.forward(ctx)
		}
	default:
		s.forward(ctx)
	}
}

// handleHandshake serves a moved connection. If there is no upgrade, it closes the connection: the next request may be
// too large for the small buffer.
func (s *HTTPServer) handleHandshake(ctx *fasthttp.RequestCtx) {
	setRequestID(ctx) // the repeated request already has its id
	setSecurityHeaders(ctx)
	s.forward(ctx)
	if !ctx.Hijacked() {
		ctx.SetConnectionClose()
	}
}

// forward calls the shop's handler, if this node has one.
func (s *HTTPServer) forward(ctx *fasthttp.RequestCtx) {
	if s.Handler != nil {
		s.Handler(ctx)
		return
	}
	ctx.Response.Header.Set("Retry-After", "2")
	writeError(ctx, fasthttp.StatusServiceUnavailable, shop.FailBusy("this node serves no shop; see STAMPEDE_ROLES", drainRetry))
}

// writeError sends an error without the shop's handler.
func writeError(ctx *fasthttp.RequestCtx, code int, e *shop.Error) {
	ctx.SetStatusCode(code)
	ctx.SetContentType(fiber.MIMEApplicationJSON)
	ctx.Response.Header.Set(fiber.HeaderCacheControl, "no-store")
	text, _ := json.Marshal(body{failure{e, string(ctx.Response.Header.Peek(fiber.HeaderXRequestID))}}) // cannot fail
	ctx.SetBody(text)
}

// handleParseError responds to a request that could not be parsed.
func handleParseError(ctx *fasthttp.RequestCtx, err error) {
	code := fasthttp.StatusBadRequest
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		code = fasthttp.StatusRequestEntityTooLarge
	case errors.As(err, &small):
		code = fasthttp.StatusRequestHeaderFieldsTooLarge
	case errors.As(err, &network) && network.Timeout():
		code = fasthttp.StatusRequestTimeout
	}
	setRequestID(ctx)
	setSecurityHeaders(ctx)
	writeError(ctx, code, shop.Fail(shop.BadRequest, "the request is too large or cannot be read"))
}

// debugLogger logs the server's messages about single connections at debug level.
type debugLogger struct{}

func (debugLogger) Printf(format string, args ...any) {
	slog.Debug("http: " + fmt.Sprintf(format, args...))
}
