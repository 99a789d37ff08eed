package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/wsclient"
)

// TestFramesBehindHandshakesStayApart: a client may send its first frame in the packet of its handshake. Web servers
// read that into buffers which they give to others later; however many come at once, each is answered what it has
// asked, and nobody anything else (P3). Also with a handshake that is too long to be moved to the server of sockets.
func TestFramesBehindHandshakesStayApart(t *testing.T) {
	t.Parallel()
	n := newShop(t, "STAMPEDE_MAX_CONNS_PER_IP=1000", "STAMPEDE_HANDSHAKE_RATE=0").start()
	const sockets, ops = 150, 4
	for name, offered := range map[string]string{
		"moved": wsclient.Subprotocol, "too long": wsclient.Subprotocol + ", " + strings.Repeat("x", 600),
	} {
		t.Run(name, func(t *testing.T) {
			var g sync.WaitGroup
			for i := range sockets {
				g.Go(func() {
					if err := asksAtOnce(n.addr, offered, 1000*(i+1), ops); err != nil {
						t.Errorf("socket %d: %v", i, err)
					}
				})
			}
			g.Wait()
		})
	}
}

// asksAtOnce opens a socket, says hello in the same packet and asks for the time a few times, each time with a number
// of its own, and looks whether these come back in their order.
func asksAtOnce(addr, offered string, number, ops int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	handshake := bytes.Replace(wsclient.Handshake(addr), []byte(wsclient.Subprotocol), []byte(offered), 1)
	if _, err := conn.Write(append(handshake, asks("hello", number)...)); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("answered %s", resp.Status)
	}
	for n, t0 := number, 0; n < number+ops; n++ {
		var told struct {
			ID int
			OK struct{ T0 int }
		}
		_, text, err := wsclient.ReadFrame(r)
		if err == nil {
			err = json.Unmarshal(text, &told)
		}
		if err != nil || told.ID != n || told.OK.T0 != t0 {
			return fmt.Errorf("asked number %d, was answered %s, %v", n, text, err)
		}
		t0 = n + 1
		if _, err := conn.Write(asks("time", t0)); err != nil {
			return err
		}
	}
	return nil
}

// asks is an op as a frame of a client.
func asks(op string, number int) []byte {
	return wsclient.AppendFrame(nil, wsclient.Text, fmt.Appendf(nil, `{"id":%d,"op":%q,"t0":%d}`, number, op, number))
}
