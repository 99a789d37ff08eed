package realtime

import (
	"sync"

	"github.com/fasthttp/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app"
)

// tick is one tick of one watch set, shared by all its members. The frame with what changed is encoded when the
// tick is made; the one with the whole set only if somebody needs it, and then once.
type tick struct {
	now     app.Millis
	all     [][]byte
	changes *websocket.PreparedMessage // nil when nothing changed
	encoded prometheus.Counter

	once  sync.Once
	whole *websocket.PreparedMessage
}

// newTick makes a tick of the lines that changed and those of the whole set.
func newTick(now app.Millis, changed, all [][]byte, encoded prometheus.Counter) *tick {
	t := &tick{now: now, all: all, encoded: encoded}
	if len(changed) > 0 {
		t.changes = t.prepare(changed)
	}
	if len(changed) == len(all) {
		t.once.Do(func() { t.whole = t.changes })
	}
	return t
}

// frame is what to send: the changes, or the whole set to a client that has skipped a tick or is new.
func (t *tick) frame(whole bool) *websocket.PreparedMessage {
	if !whole {
		return t.changes
	}
	t.once.Do(func() { t.whole = t.prepare(t.all) })
	return t.whole
}

func (t *tick) prepare(lines [][]byte) *websocket.PreparedMessage {
	t.encoded.Inc()
	return prepared(tickFrame(t.now, lines))
}

// prepared makes a frame that is encoded once for all sockets.
func prepared(text []byte) *websocket.PreparedMessage {
	frame, err := websocket.NewPreparedMessage(websocket.TextMessage, text)
	if err != nil {
		panic("realtime: prepare frame: " + err.Error()) // writes to memory only
	}
	return frame
}
