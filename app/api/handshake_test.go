package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

// handshake opens a connection and sends a handshake with additional headers, directly followed by the given bytes.
func (s *site) handshake(headers, after string) (net.Conn, *bufio.Reader, *http.Response) {
	s.t.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, err = io.WriteString(conn,
		"GET /ws HTTP/1.1\r\nHost: "+host+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+headers+"\r\n"+after)
	if err != nil {
		s.t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn, r, res
}

// readBytes reads n bytes.
func readBytes(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A socket keeps no memory for the browser's headers, and no bytes of the client are lost.
func TestMovedHandshakeLosesNoBytes(t *testing.T) {
	t.Parallel()
	cookies := make(chan int, 1)
	s := open(t, func(o *Options) {
		o.Mount = func(web *fiber.App, path string, front ...fiber.Handler) {
			web.Get(path, append(front, func(c *fiber.Ctx) error {
				cookies <- len(c.Get(fiber.HeaderCookie))
				c.Status(fiber.StatusSwitchingProtocols)
				c.Context().Hijack(func(conn net.Conn) {
					defer func() { _ = conn.Close() }()
					_, _ = io.Copy(conn, conn)
				})
				return nil
			})...)
		}
	})
	long := strings.Repeat("c", 3000)
	for name, after := range map[string]string{
		"no bytes": "", "a first frame": "hello", "more bytes than the buffer of a socket": strings.Repeat("frame",
			3*handshakeBuffer),
	} {
		t.Run(name, func(t *testing.T) {
			conn, r, res := s.handshake("Cookie: a="+long+"\r\n", after)
			if res.StatusCode != http.StatusSwitchingProtocols || <-cookies != 0 {
				t.Fatalf("got %s, or the socket has a cookie; want 101 and a socket without cookies", res.Status)
			}
			if got := readBytes(t, r, len(after)); got != after {
				t.Errorf("got %.20q, want the %d bytes after the handshake", got, len(after))
			}
			if _, err := io.WriteString(conn, "later"); err != nil || readBytes(t, r, 5) != "later" {
				t.Errorf("got other bytes than the client sent later: %v", err)
			}
		})
	}
	t.Run("a handshake with long headers", func(t *testing.T) {
		_, r, res := s.handshake("Cookie: a=b\r\nSec-WebSocket-Protocol: "+long+"\r\n", "hello")
		if res.StatusCode != http.StatusSwitchingProtocols || <-cookies != 0 || readBytes(t, r, 5) != "hello" {
			t.Errorf("got %s, want 101 and a socket without the headers", res.Status)
		}
	})
}

// A server with a limit of 16 KB accepts long cookies, and no socket keeps a buffer of that size.
func TestHeaderLimitAllowsLongHeaders(t *testing.T) {
	t.Parallel()
	s := openWith(t, 100, nil, func(f *HTTPServer) { f.server.ReadBufferSize = 16 << 10 })
	long := strings.Repeat("c", 15_000)
	s.want(s.request("GET", "/api/v1/time", "", "Cookie", "sso="+long), 200, "now")
	for name, request := range map[string]string{
		"long headers": "GET /ws HTTP/1.1\r\nSec-WebSocket-Protocol: " + long + "\r\n",
		"a body":       "GET /ws HTTP/1.1\r\nContent-Length: 1\r\n",
		"HTTP/1.0":     "GET /ws HTTP/1.0\r\n",
	} {
		res, text := s.sendAndRead(request + "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nx")
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("a handshake with %s: got %d %s, want 400", name, res.StatusCode, text)
		}
	}
}

// A rejected handshake closes its connection: the server of sockets has too small a buffer for other requests.
func TestRejectedHandshakeClosesConnection(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, r, res := s.handshake("Origin: https://evil.example\r\n", "")
	text, _ := io.ReadAll(io.LimitReader(r, res.ContentLength))
	if res.StatusCode != http.StatusForbidden || !res.Close || !strings.Contains(string(text), "forbidden") {
		t.Errorf("got %s %s, want 403 and the end of the connection", res.Status, text)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("got %v, want the end of the connection", err)
	}
}

// deadlineRecorder is a connection that records its deadlines.
type deadlineRecorder struct {
	net.Conn
	write []time.Time
}

func (d *deadlineRecorder) SetWriteDeadline(t time.Time) error {
	d.write = append(d.write, t)
	return nil
}
func (d *deadlineRecorder) SetDeadline(t time.Time) error { return d.SetWriteDeadline(t) }

// The write deadline does not move at every write, but every write has at least four fifths of its time.
func TestWriteDeadlineMovesSeldom(t *testing.T) {
	t.Parallel()
	recorded := &deadlineRecorder{}
	c := &replayedConn{Conn: recorded}
	now := time.Now()
	const timeout = 5 * time.Minute // long, so that the duration of the test is negligible
	for _, step := range []struct {
		after time.Duration // relative to now
		moves bool
	}{
		{0, true}, {timeout / 100, false}, {timeout / 10, false}, {timeout / 4, true}, {timeout / 3, false}, {0, true},
	} {
		before := len(recorded.write)
		if err := c.SetWriteDeadline(now.Add(step.after + timeout)); err != nil {
			t.Fatal(err)
		}
		if moved := len(recorded.write) > before; moved != step.moves {
			t.Fatalf("after %v: got deadline moved %v, want %v", step.after, moved, step.moves)
		}
	}
	_ = c.SetDeadline(time.Time{}) // as after the handshake
	_ = c.SetWriteDeadline(now.Add(-time.Second))
	nextDeadline := time.Now().Add(time.Hour)
	_ = c.SetWriteDeadline(nextDeadline)
	if last := recorded.write[len(recorded.write)-1]; !last.Equal(nextDeadline) {
		t.Fatalf("a deadline in the past: got %v, want %v", last, nextDeadline)
	}
}
