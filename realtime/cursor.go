package realtime

import (
	"fmt"
	"strconv"
	"strings"

	"stampede/app"
)

// Cursor is how far a client knows its orders: an instant of the database's clock, in one history of the database.
// Whoever has read the rows that changed since then, or a little earlier (Options.Overlap), has missed nothing. On the
// wire it is an opaque text, `<ms>.<history>`.
type Cursor app.Instant

// noCursor stands for an instant that nobody knows; no database has its history, so that the next hello is told to
// start anew.
var noCursor = Cursor{History: "00000000"}

const (
	historyLength = 8  // hex digits
	mostDigits    = 19 // of milliseconds
)

// ParseCursor reads a cursor. The "no" cases: no dot, anything but digits before it (a sign, a leading zero, too many),
// anything but eight lower-case hex digits behind it.
func ParseCursor(s string) (Cursor, error) {
	at, history, ok := strings.Cut(s, ".")
	ms, err := strconv.ParseInt(at, 10, 64)
	c := Cursor{At: app.Millis(ms), History: history}
	if !ok || err != nil || ms < 0 || len(at) > mostDigits || !isHistory(history) || c.String() != s {
		return Cursor{}, fmt.Errorf("cursor %.44q: want milliseconds.history", s)
	}
	return c, nil
}

func isHistory(s string) bool {
	return len(s) == historyLength && strings.Trim(s, "0123456789abcdef") == ""
}

// String is the form on the wire.
func (c Cursor) String() string { return strconv.FormatInt(int64(c.At), 10) + "." + c.History }
