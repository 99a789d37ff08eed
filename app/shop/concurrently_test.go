package shop

import (
	"errors"
	"sync/atomic"
	"testing"
)

// Concurrently calls each index once, never exceeds its limit, and returns every error.
func TestConcurrentlyKeepsItsLimitAndEveryError(t *testing.T) {
	t.Parallel()
	first, last := errors.New("first"), errors.New("last")
	var running, most atomic.Int64
	calls := make([]int, 40)
	err := Concurrently(3, len(calls), func(i int) error {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		calls[i]++
		return map[int]error{0: first, 39: last}[i]
	})
	if !errors.Is(err, first) || !errors.Is(err, last) {
		t.Errorf("got %v, want both errors", err)
	}
	if most.Load() > 3 {
		t.Errorf("%d calls ran at once, want at most 3", most.Load())
	}
	for i, n := range calls {
		if n != 1 {
			t.Errorf("index %d was called %d times", i, n)
		}
	}
	if err := Concurrently(3, 0, nil); err != nil {
		t.Errorf("without an index: got %v", err)
	}
}
