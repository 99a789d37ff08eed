package wsclient

import (
	"errors"
	"net/http"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

// ErrFrame ends a connection whose server has sent something that is no frame of this protocol.
var ErrFrame = errors.New("unreadable frame")

// What a call answers when nothing is known of its op.
var (
	ErrGone   = errors.New("the socket ended before the reply")
	ErrSilent = errors.New("no reply within 30 s")
)

// Refused is a handshake that the server, or a proxy before it, did not grant.
type Refused struct {
	Response *http.Response // its body can be read, up to 1 KB
	err      error
}

func (r *Refused) Error() string { return "open the socket: " + r.Response.Status }

// Unwrap is what the library says.
func (r *Refused) Unwrap() error { return r.err }

// CodeOf is the code of what the server refused; "" when it refused nothing, or nothing is known.
func CodeOf(err error) app.Code {
	var e *app.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// CloseCode is the code of the close frame that ended a connection; 0 when it ended without one.
func CloseCode(err error) int {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		return closed.Code
	}
	return 0
}
