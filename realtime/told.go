package realtime

import (
	"strings"

	"stampede/app"
)

// firstTold reports which order, of which sale, the frame tells of for the first time: one that has got its row, and
// waits to be paid.
// The frame is one of OrderFrame, which no text of a person can break into: what has a quote is escaped.
func firstTold(frame string) (order, sale app.ID, first bool) {
	_, rest, ok := strings.Cut(frame, `"order":{"id":"`)
	if !ok {
		return 0, 0, false
	}
	digits, rest, _ := strings.Cut(rest, `"`)
	if !strings.Contains(rest, `"state":"pending",`) || !strings.Contains(rest, `"rev":1,`) {
		return 0, 0, false
	}
	id, err := app.ParseID(digits)
	if err != nil {
		return 0, 0, false
	}
	if _, behind, found := strings.Cut(rest, `"sale":"`); found {
		digits, _, _ = strings.Cut(behind, `"`)
		sale, _ = app.ParseID(digits) // 0 is no sale that anybody counts
	}
	return id, sale, true
}
