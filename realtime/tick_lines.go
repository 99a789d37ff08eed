package realtime

import (
	"maps"
	"math"
	"sync"

	"github.com/fasthttp/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/shop"
)

// lineTable holds the newest value of every watched sale in encoded form. Only the tick loop uses it.
type lineTable struct {
	lines      map[shop.ID]*line
	tickNumber int64 // number of the newest tick
}

// line holds the counters of one sale. text is replaced and never modified, because queued frames may refer to it.
type line struct {
	shown   shop.Counters // only the published fields
	text    []byte
	changed int64 // number of the tick with the last change
	used    int64 // number of the last tick that included the sale
}

// dropAfter is the number of ticks after which an unused sale is dropped.
const dropAfter = 600

func newLineTable() *lineTable { return &lineTable{lines: make(map[shop.ID]*line)} }

// update stores the newest counters as the next tick. It skips sales that are not loaded.
func (t *lineTable) update(counters []shop.Counters) {
	t.tickNumber++
	for i := range counters {
		c := &counters[i]
		if !c.Loaded {
			continue
		}
		shown := shop.Counters{
			Sale: c.Sale, Stock: c.Stock, Held: c.Held, Sold: c.Sold, Done: c.Done,
			Rate: roundToTenth(c.Rate), Watching: c.Watching,
		}
		l := t.lines[c.Sale]
		if l == nil {
			l = &line{}
			t.lines[c.Sale] = l
		}
		l.used = t.tickNumber
		if l.text == nil || l.shown != shown {
			l.shown, l.changed, l.text = shown, t.tickNumber, appendTickLine(nil, &shown)
		}
	}
	if t.tickNumber%dropAfter == 0 {
		maps.DeleteFunc(t.lines, func(_ shop.ID, l *line) bool { return t.tickNumber-l.used >= dropAfter })
	}
}

// linesSince returns the lines of the given sales that changed in the tick or later.
func (t *lineTable) linesSince(tick int64, sales []shop.ID) (lines [][]byte) {
	for _, id := range sales {
		if l := t.lines[id]; l != nil && l.changed >= tick {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// roundToTenth rounds to one decimal. NaN and infinities become 0, because JSON cannot represent them.
func roundToTenth(rate float64) float64 {
	if math.IsNaN(rate) || math.IsInf(rate, 0) {
		return 0
	}
	return math.Round(rate*10) / 10
}

// tick holds the frames of one watch set for one tick. All members share them. The frame with the whole set is encoded
// on first use.
type tick struct {
	now     shop.Millis
	all     [][]byte
	changes *websocket.PreparedMessage // nil: no changes
	encoded prometheus.Counter

	once  sync.Once
	whole *websocket.PreparedMessage
}

// newTick returns a tick with the changed lines and all lines of the set.
func newTick(now shop.Millis, changed, all [][]byte, encoded prometheus.Counter) *tick {
	t := &tick{now: now, all: all, encoded: encoded}
	if len(changed) > 0 {
		t.changes = t.encode(changed)
	}
	if len(changed) == len(all) {
		t.once.Do(func() { t.whole = t.changes })
	}
	return t
}

// frame returns the changes, or the whole set for a client that is new or skipped a tick.
func (t *tick) frame(whole bool) *websocket.PreparedMessage {
	if !whole {
		return t.changes
	}
	t.once.Do(func() { t.whole = t.encode(t.all) })
	return t.whole
}

func (t *tick) encode(lines [][]byte) *websocket.PreparedMessage {
	t.encoded.Inc()
	return newPreparedMessage(tickFrame(t.now, lines))
}

// newPreparedMessage returns a frame that is encoded once for all sockets.
func newPreparedMessage(text []byte) *websocket.PreparedMessage {
	frame, err := websocket.NewPreparedMessage(websocket.TextMessage, text)
	if err != nil {
		panic("realtime: prepare frame: " + err.Error()) // cannot fail: it only writes to memory
	}
	return frame
}
