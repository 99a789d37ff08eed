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

// TestEarlyFramesStayOnTheirConnection: a client may send its first frame in the packet of its handshake. Web servers
// read this frame into buffers that they reuse for other connections. With many concurrent handshakes, each client must
// receive only the replies to its own ops (P3). This includes handshakes that are too long to be moved to the socket
// server.
func TestEarlyFramesStayOnTheirConnection(t *testing.T) {
	t.Parallel()
	n := newShop(t, "STAMPEDE_MAX_CONNS_PER_IP=1000", "STAMPEDE_HANDSHAKE_RATE=0").start()
	const sockets, ops = 150, 4
	for name, offered := range map[string]string{
		"moved handshake": wsclient.Subprotocol, "too long handshake": wsclient.Subprotocol + ", " + strings.Repeat("x", 600),
	} {
		t.Run(name, func(t *testing.T) {
			var g sync.WaitGroup
			for i := range sockets {
				g.Go(func() {
					if err := sendWithHandshake(n.addr, offered, 1000*(i+1), ops); err != nil {
						t.Errorf("socket %d: %v", i, err)
					}
				})
			}
			g.Wait()
		})
	}
}

// sendWithHandshake opens a socket and sends hello in the same packet. Then it sends time ops, each with a different
// number, and checks that the replies return the numbers in order.
func sendWithHandshake(addr, offered string, number, ops int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	handshake := bytes.Replace(wsclient.Handshake(addr), []byte(wsclient.Subprotocol), []byte(offered), 1)
	if _, err := conn.Write(append(handshake, encodeOp("hello", number)...)); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the handshake got %s", resp.Status)
	}
	for n, t0 := number, 0; n < number+ops; n++ {
		var reply struct {
			ID int
			OK struct{ T0 int }
		}
		_, text, err := wsclient.ReadFrame(r)
		if err == nil {
			err = json.Unmarshal(text, &reply)
		}
		if err != nil || reply.ID != n || reply.OK.T0 != t0 {
			return fmt.Errorf("request %d got %s, %v", n, text, err)
		}
		t0 = n + 1
		if _, err := conn.Write(encodeOp("time", t0)); err != nil {
			return err
		}
	}
	return nil
}

// encodeOp returns an op as a client frame.
func encodeOp(op string, number int) []byte {
	return wsclient.AppendFrame(nil, wsclient.Text, fmt.Appendf(nil, `{"id":%d,"op":%q,"t0":%d}`, number, op, number))
}
