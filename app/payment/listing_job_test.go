package payment

import (
	"testing"
	"time"

	"stampede/app/shop"
)

// C4: lists are compared once a day, when they contain the trades before a doubt, and when they contain the payments
// that could still be made then.
func TestListsAreComparedDailyAndAfterEachDoubt(t *testing.T) {
	t.Parallel()
	const hour, window = shop.Millis(3_600_000), time.Hour
	const now = 1000 * hour
	for name, c := range map[string]struct {
		until, doubt shop.Millis
		due          bool
	}{
		"never":                               {0, 0, true},
		"a day ago":                           {now - 24*hour, 0, true},
		"less than a day ago":                 {now - 24*hour + 1, 0, false},
		"before a doubt":                      {now - 2, now - 1, true},
		"before a doubt that is not listed":   {now - 2, now + 1, false},
		"after a doubt":                       {now - 1, now - 1, false},
		"before the end of payments":          {now - 2, now - hour - 1, true},
		"after the end of payments":           {now - 1, now - hour - 1, false},
		"long after a doubt, before the next": {now - 3*hour, now - 20*hour, false},
	} {
		if got := (ListingProgress{Until: c.until, DoubtUntil: c.doubt}).due(now, window); got != c.due {
			t.Errorf("%s: got due %v, want %v", name, got, c.due)
		}
	}
}
