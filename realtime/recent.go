package realtime

import (
	"slices"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

// recentNews remembers, for a short while, what was said of slots and sales. A client that starts to watch reads a
// snapshot and then joins a set; what changed in between is offered to it again from here, the newest last.
type recentNews struct {
	mu      sync.Mutex
	said    int64 // how many there were
	entries []newsEntry
}

type newsEntry struct {
	subject string
	sale    app.ID // 0: about a slot, which concerns everyone
	frame   *websocket.PreparedMessage
	at      time.Time
}

// newsKept is longer than any snapshot takes.
const newsKept = time.Minute

func (d *recentNews) put(e newsEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said++
	e.at = time.Now()
	old := 0
	for old < len(d.entries) && e.at.Sub(d.entries[old].at) > newsKept {
		old++
	}
	d.entries = append(slices.Delete(d.entries, 0, old), e)
}

// mark is the present end of the news.
func (d *recentNews) mark() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said
}

// since lists what came after the mark, the oldest first.
func (d *recentNews) since(mark int64) []newsEntry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries[max(0, len(d.entries)-int(d.said-mark)):])
}
