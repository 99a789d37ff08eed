package streams

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// The seq of an entry is its base plus its ticket. An entry is unreadable if its seq is not positive or its layout has
// another version.
func TestEntryHasAPositiveSeqAndAKnownVersion(t *testing.T) {
	t.Parallel()
	for terms, want := range map[string]int64{
		"2:9:7:12:5:1:2:4990:3:beef:key-one-1:11:42:a:b": 17,
		"2:9:7:-4:5:1:2:4990:3:beef:key-one-1:11:42:a:b": 1,
		"2:9:7:-5:5:1:2:4990:3:beef:key-one-1:11:42:a:b": 0, // seq 0 is invalid
		"1:9:7:12:5:1:2:4990:3:beef:key-one-1:11:42:a:b": 0,
		"3:9:7:12:5:1:2:4990:3:beef:key-one-1:11:42:a:b": 0,
	} {
		e := parseEntry(1, redis.XMessage{ID: "1790000000000-0", Values: map[string]any{"terms": terms}})
		if (e.ParseErr != nil) != (want == 0) || want != 0 &&
			(e.Seq != want || e.Order != 9 || e.User != 42 || e.Address != "a:b") {
			t.Errorf("%s: read as %+v; want seq %d", terms, e, want)
		}
	}
}
