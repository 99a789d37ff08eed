package realtime

import (
	"testing"
	"time"
)

// A client that waits for the returned delay is accepted next, after any number of rejections. Otherwise a client that
// follows the delays could be rejected forever.
func TestClientIsAcceptedAfterTheReturnedDelay(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	b := newBucket(20, 40, now)
	refused := 0
	for range 100 {
		wait, exhausted := b.spend(now)
		if exhausted {
			t.Fatal("a client that waits as requested was closed")
		}
		if wait == 0 {
			refused = 0
			continue
		}
		if refused++; refused > 1 {
			t.Fatal("the op after the returned delay was rejected, want it accepted")
		}
		now = now.Add(wait)
	}
}

// A client that does not wait is closed when its debt reaches the burst.
func TestClientThatIgnoresDelaysIsClosed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	b := newBucket(20, 40, now)
	for i := range 80 {
		if _, exhausted := b.spend(now); exhausted != (i == 79) {
			t.Fatalf("op %d: got exhausted = %v", i+1, exhausted)
		}
	}
}
