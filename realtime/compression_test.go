package realtime

import (
	"net/http"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
)

// Frames are never compressed: the server declines the extension, and a compressed frame closes the connection unread.
// So no frame can decompress to more than 4 KiB.
func TestCompressionIsNotOffered(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dialer := websocket.Dialer{
		Subprotocols: []string{Subprotocol}, EnableCompression: true, HandshakeTimeout: testTimeout,
	}
	conn, res, err := dialer.Dial("ws://"+n.addr+"/ws", http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if offered := res.Header.Get("Sec-WebSocket-Extensions"); offered != "" {
		t.Errorf("the handshake offers extensions %q, want none", offered)
	}
	// Header of a compressed frame: FIN, RSV1 and text, zero mask, two bytes.
	if _, err := conn.UnderlyingConn().Write([]byte{0xc1, 0x82, 0, 0, 0, 0, 0x02, 0x00}); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(testTimeout))
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseProtocolError) {
		t.Errorf("a compressed frame ended with %v, want close code 1002", err)
	}
}
