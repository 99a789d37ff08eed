package realtime

import (
	"maps"
	"math"

	"stampede/app"
)

// board is the latest value of every watched sale, in the form in which it is sent. It belongs to the tick loop.
type board struct {
	lines map[app.ID]*line
	no    int64 // number of the newest tick
}

// line is one sale on the board. text is replaced, never changed: frames under way may still hold it.
type line struct {
	shown   app.Counters // the shown fields only
	text    []byte
	changed int64 // the tick in which it changed last
	used    int64 // the tick in which it was offered last
}

// forgetAfter is how many ticks a sale stays on the board without being offered.
const forgetAfter = 600

func newBoard() *board { return &board{lines: make(map[app.ID]*line)} }

// update takes the newest counters as the next tick. Sales that are not loaded have no numbers and are left out.
func (b *board) update(counters []app.Counters) {
	b.no++
	for i := range counters {
		c := &counters[i]
		if !c.Loaded {
			continue
		}
		shown := app.Counters{
			Sale: c.Sale, Stock: c.Stock, Held: c.Held, Sold: c.Sold, Done: c.Done,
			Rate: tenth(c.Rate), Watching: c.Watching,
		}
		l := b.lines[c.Sale]
		if l == nil {
			l = &line{}
			b.lines[c.Sale] = l
		}
		l.used = b.no
		if l.text == nil || l.shown != shown {
			l.shown, l.changed, l.text = shown, b.no, tickLine(nil, &shown)
		}
	}
	if b.no%forgetAfter == 0 {
		maps.DeleteFunc(b.lines, func(_ app.ID, l *line) bool { return b.no-l.used >= forgetAfter })
	}
}

// changedOf lists the lines of the sales that changed in the newest tick.
func (b *board) changedOf(sales []app.ID) [][]byte { return b.linesSince(b.no, sales) }

// allOf lists the lines of all the sales that are on the board.
func (b *board) allOf(sales []app.ID) [][]byte { return b.linesSince(0, sales) }

func (b *board) linesSince(tick int64, sales []app.ID) (lines [][]byte) {
	for _, id := range sales {
		if l := b.lines[id]; l != nil && l.changed >= tick {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// tenth rounds to one decimal; what is not a number becomes 0, because JSON cannot say it.
func tenth(rate float64) float64 {
	if math.IsNaN(rate) || math.IsInf(rate, 0) {
		return 0
	}
	return math.Round(rate*10) / 10
}
