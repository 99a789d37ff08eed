package streams

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// alone is a yield shorter than which nobody else was ready to run.
const alone = 50 * time.Microsecond

// Urgency counts the sale queues behind whose call a whole group waits already. Meanwhile the connections that its dialer made look
// for replies between the goroutines that are ready. Left to itself, Go's scheduler asks the kernel what has come only when
// none of them is left, or after 10 ms: in the instant in which everybody presses Buy, Redis would be idle for most of that
// time. With less than a group waiting it is better that way: what comes until then shares the next call.
//
// A nil Urgency counts nothing.
type Urgency struct{ lanes atomic.Int32 }

func (u *Urgency) add(n int32) {
	if u != nil {
		u.lanes.Add(n)
	}
}

// Dial is how a client of Redis connects.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer answers dial with connections that are urgent when the gate is. Those that cannot be looked at without waiting,
// TLS among them, stay as they are.
func (u *Urgency) Dialer(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if inner, ok := conn.(syscall.Conn); ok {
			if raw, err := inner.SyscallConn(); err == nil {
				return &urgentConn{conn, raw, u}, nil
			}
		}
		return conn, nil
	}
}

type urgentConn struct {
	net.Conn
	raw     syscall.RawConn
	urgency *Urgency
}

// SyscallConn lets the client see whether the other side has hung up.
func (c *urgentConn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

// Read yields until something has come, as long as that is urgent and others are ready. Everything else, errors too, is for
// the connection itself.
func (c *urgentConn) Read(into []byte) (int, error) {
	for c.urgency.lanes.Load() > 0 {
		n, again := readNow(c.raw, into)
		if n > 0 {
			return n, nil
		}
		if !again {
			break
		}
		before := time.Now()
		runtime.Gosched()
		if time.Since(before) < alone {
			break
		}
	}
	return c.Conn.Read(into)
}
