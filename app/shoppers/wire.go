package shoppers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

const (
	dialTimeout  = 5 * time.Second
	writeTimeout = 5 * time.Second
	// silence is how long a shopper waits for a word or a ping before giving the connection up.
	silence = 60 * time.Second
)

// frame is whatever comes from the server; the parts that are not there stay empty.
type frame struct {
	ID    int64           `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error *app.Error      `json:"error"`

	Event string          `json:"ev"`
	Sales json.RawMessage `json:"sales"` // of a tick: a list; of a slot: how many
	Sale  *sale           `json:"sale"`
	Order *app.Order      `json:"order"`
	Phase app.Phase       `json:"phase"`
}

// sale is what a shopper looks at.
type sale struct {
	ID    app.ID    `json:"id"`
	Slot  app.ID    `json:"slot"`
	Stock int64     `json:"stock"`
	Limit int       `json:"limit"`
	Phase app.Phase `json:"phase"`
}

// request is an op of ours.
type request struct {
	ID    int64  `json:"id"`
	Op    string `json:"op"`
	Token string `json:"token,omitempty"`
	Slot  app.ID `json:"slot,omitzero"`
	Sale  app.ID `json:"sale,omitzero"`
	Order app.ID `json:"order,omitzero"`
	Qty   int    `json:"qty,omitempty"`
	Key   string `json:"key,omitempty"`
}

// enter logs in as a guest; with a token that is still good, as the same one.
func enter(ctx context.Context, base, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/auth/guest", nil)
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	defer res.Body.Close()
	var session struct {
		Access string     `json:"access"`
		Error  *app.Error `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&session); err != nil {
		return "", fmt.Errorf("log in: status %d: %w", res.StatusCode, err)
	}
	if session.Error != nil {
		return "", fmt.Errorf("log in: %w", session.Error)
	}
	return session.Access, nil
}

// dial opens the socket.
func dial(ctx context.Context, base string) (*websocket.Conn, error) {
	dialer := websocket.Dialer{HandshakeTimeout: dialTimeout, Subprotocols: []string{"stampede.v1"}}
	conn, res, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(base, "http")+"/ws", nil)
	if err != nil {
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	_ = res.Body.Close() // nothing is left in it after a handshake
	return conn, nil
}

// receive passes on every frame until the connection ends, which is its answer.
func receive(conn *websocket.Conn, frames chan<- frame, left <-chan struct{}) error {
	conn.SetPingHandler(func(text string) error {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		return conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(writeTimeout))
	})
	for {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		var f frame
		if err := conn.ReadJSON(&f); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		select {
		case frames <- f:
		case <-left:
			return nil
		}
	}
}
