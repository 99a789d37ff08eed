package realtime

import (
	"slices"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

// recentNews remembers the newest word on each slot and sale for a short while. A client that starts to watch reads
// a snapshot and then joins a set; what changed in between is offered to it again from here.
type recentNews struct {
	mu      sync.Mutex
	no      int64
	entries map[string]newsEntry
}

type newsEntry struct {
	subject string
	sale    app.ID // 0: about a slot, which concerns everyone
	slot    app.ID
	frame   *websocket.PreparedMessage

	no int64
	at time.Time
}

const (
	newsKept = time.Minute // longer than any snapshot takes
	newsMany = 512         // beyond this many, old entries are looked for
)

func newRecentNews() recentNews { return recentNews{entries: make(map[string]newsEntry)} }

// put keeps the entry as the newest on its subject.
func (d *recentNews) put(e newsEntry) newsEntry {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.no++
	e.no, e.at = d.no, time.Now()
	d.entries[e.subject] = e
	if len(d.entries) > newsMany {
		for subject, old := range d.entries {
			if e.at.Sub(old.at) > newsKept {
				delete(d.entries, subject)
			}
		}
	}
	return e
}

// mark is the present end of the news.
func (d *recentNews) mark() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.no
}

// since lists what came after the mark, the oldest first.
func (d *recentNews) since(mark int64) []newsEntry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.no == mark {
		return nil
	}
	var entries []newsEntry
	for _, e := range d.entries {
		if e.no > mark {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b newsEntry) int { return int(a.no - b.no) })
	return entries
}
