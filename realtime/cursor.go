package realtime

import (
	"fmt"
	"strconv"
	"strings"

	"stampede/app"
)

// Cursor is a position in a user's log: the log's epoch (the Redis time at which it began) and the number of the
// last event that was taken, counted from 1 without gaps. Number 0 means: at that time there was no log.
// On the wire it is an opaque text, `<epoch>-<number>`.
type Cursor struct {
	Epoch app.Millis
	N     int64
}

// ParseCursor reads a cursor; the "no" cases are empty, signed, too long, epoch 0 and anything that String would
// not write.
func ParseCursor(s string) (Cursor, error) {
	epoch, number, ok := strings.Cut(s, "-")
	if !ok || len(s) > 40 {
		return Cursor{}, fmt.Errorf("cursor %.44q: want epoch-number", s)
	}
	e, errE := strconv.ParseInt(epoch, 10, 64)
	n, errN := strconv.ParseInt(number, 10, 64)
	c := Cursor{Epoch: app.Millis(e), N: n}
	if errE != nil || errN != nil || e <= 0 || n < 0 || c.String() != s {
		return Cursor{}, fmt.Errorf("cursor %.44q: want epoch-number", s)
	}
	return c, nil
}

// String is the form on the wire and in the log.
func (c Cursor) String() string {
	return strconv.FormatInt(int64(c.Epoch), 10) + "-" + strconv.FormatInt(c.N, 10)
}

// isZero tells that there is no cursor at all.
func (c Cursor) isZero() bool { return c == Cursor{} }

// followedBy reports whether next is the very next event after c. After "there was no log", that is the first event
// of a log that began before a log of that time could have ended: an event keeps its log for logKept, so within
// that time no other log can have come and gone.
func (c Cursor) followedBy(next Cursor) bool {
	if c.N == 0 && c.Epoch != next.Epoch {
		return next.N == 1 && next.Epoch > c.Epoch && next.Epoch < c.Epoch.Add(logKept)
	}
	return next.Epoch == c.Epoch && next.N == c.N+1
}

// covers reports whether the event at other was taken by c already.
func (c Cursor) covers(other Cursor) bool { return c.Epoch == other.Epoch && other.N <= c.N }
