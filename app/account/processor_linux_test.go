package account

import (
	"testing"
	"time"

	"stampede/app/shop"
)

// TestProcessorTimeExcludesWaiting: the cost of a picture is its processor time, so the limit allows as many pictures
// on a busy machine as on an idle one.
func TestProcessorTimeExcludesWaiting(t *testing.T) {
	t.Parallel()
	if slept := processorTime(func() { time.Sleep(200 * time.Millisecond) }); slept > 20*time.Millisecond {
		t.Errorf("200 ms of sleep used %v of processor time, want at most 20 ms", slept)
	}
	c := NewCaptchas(NewCounters(nil), func() shop.Millis { return 0 })
	began := time.Now()
	drawn := processorTime(func() {
		for range 20 {
			if _, err := c.draw("123456"); err != nil {
				t.Error(err)
			}
		}
	})
	if all := time.Since(began); drawn < 5*time.Millisecond || drawn > all+time.Millisecond {
		t.Errorf("twenty pictures used %v of processor time, want at least 5 ms and at most the elapsed %v", drawn, all)
	}
}
