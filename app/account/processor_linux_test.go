package account

import (
	"testing"
	"time"

	"stampede/app/shop"
)

// What a picture costs is what a processor does for it: on a busy machine, where it takes longer, as many are drawn.
func TestProcessorTime(t *testing.T) {
	t.Parallel()
	if slept := processorTime(func() { time.Sleep(200 * time.Millisecond) }); slept > 20*time.Millisecond {
		t.Errorf("sleeping took %v of a processor", slept)
	}
	c := NewCaptchas(NewShelf(nil), func() shop.Millis { return 0 })
	began := time.Now()
	drawn := processorTime(func() {
		for range 20 {
			if _, err := c.draw("123456"); err != nil {
				t.Error(err)
			}
		}
	})
	if all := time.Since(began); drawn < 5*time.Millisecond || drawn > all+time.Millisecond {
		t.Errorf("twenty pictures took %v of a processor within %v", drawn, all)
	}
}
