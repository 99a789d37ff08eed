package payment

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	b := NewBreaker()
	b.now = func() time.Time { return now }
	fault := func() { b.Done(true, false) }
	for range openAfter - 1 {
		if !b.Allow() {
			t.Fatal("it opened too early")
		}
		fault()
	}
	b.Done(true, true) // given up by its caller: does not count
	if b.Open() {
		t.Fatal("an abandoned call must not count")
	}
	fault()
	if b.Allow() || !b.Open() || b.Refused() != 1 {
		t.Fatal("it must be open now")
	}
	now = now.Add(restFor)
	if !b.Allow() || b.Allow() {
		t.Fatal("after the rest, one may look and the others wait")
	}
	fault()
	if b.Allow() {
		t.Fatal("still away: open again")
	}
	now = now.Add(restFor)
	if !b.Allow() {
		t.Fatal("the next look")
	}
	b.Done(false, false)
	if b.Open() || !b.Allow() || !b.Allow() {
		t.Fatal("it worked: closed")
	}
}
