package server

import (
	"strings"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// repeatEvery is the time after which a repeated line is shown again.
	repeatEvery = time.Minute
	// maxRepeatedLines bounds the memory of a repeatFilter.
	maxRepeatedLines = 1000
)

// repeatFilter drops log lines about the same fault of a store: while a store is down, each job, partition and batch
// would log its cause many times a second. The first line is shown at once, the next after repeatEvery.
type repeatFilter struct {
	now func() time.Time

	mu    sync.Mutex
	lines map[string]*repeatedLine // by message and cause
}

type repeatedLine struct {
	shownAt time.Time
	dropped int
}

// admit reports whether to show the line, and how many equal lines were dropped before it.
func (f *repeatFilter) admit(message string, err error) (dropped int, show bool) {
	key := message + causeOf(err)
	f.mu.Lock()
	defer f.mu.Unlock()
	line := f.lines[key]
	if line == nil {
		if len(f.lines) >= maxRepeatedLines {
			clear(f.lines)
		}
		line = &repeatedLine{}
		f.lines[key] = line
	}
	if f.now().Sub(line.shownAt) < repeatEvery {
		line.dropped++
		return 0, false
	}
	dropped, line.dropped, line.shownAt = line.dropped, 0, f.now()
	return dropped, true
}

// causeOf returns the first line of the innermost text of a fault, without numbers such as partitions and ports.
func causeOf(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, shop.ErrTransient.Error()); i >= 0 {
		text = strings.TrimLeft(text[i+len(shop.ErrTransient.Error()):], ": \n")
	}
	text, _, _ = strings.Cut(text, "\n")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}
