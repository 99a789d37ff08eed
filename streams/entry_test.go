package streams

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// P2: what was answered before an upgrade is read after it.
func TestEntriesOfBothLayoutsAreRead(t *testing.T) {
	t.Parallel()
	for terms, want := range map[string]int64{
		"1:7:12:5:1:2:4990:3:beef:key-one-1:11:42:": 12,
		"2:7:12:5:1:2:4990:3:beef:key-one-1:11:42:": 17,
		"2:7:-4:5:1:2:4990:3:beef:key-one-1:11:42:": 1,
		"2:7:-5:5:1:2:4990:3:beef:key-one-1:11:42:": 0, // no reservation has the number 0
		"3:7:12:5:1:2:4990:3:beef:key-one-1:11:42:": 0,
	} {
		e := parseEntry(1, redis.XMessage{ID: "1790000000000-0", Values: map[string]any{"order": "9", "terms": terms}})
		if got := e.Seq; (e.Bad != nil) != (want == 0) || want != 0 && got != want {
			t.Errorf("%s: seq %d, %v; want %d", terms, got, e.Bad, want)
		}
	}
}
