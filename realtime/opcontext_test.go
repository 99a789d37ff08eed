package realtime

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The context of an op ends at its deadline for all callers, including those that start to wait later.
func TestOpContextEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(20 * time.Millisecond)
	w := newOpContext(nil, end, &request{})
	defer w.release()
	if at, ok := w.Deadline(); !ok || !at.Equal(end) {
		t.Fatalf("got deadline %v, %v; want %v", at, ok, end)
	}
	if err := w.Err(); err != nil && time.Now().Before(end) {
		t.Fatalf("the context ended before its deadline: %v", err)
	}
	child, cancel := context.WithCancel(w)
	defer cancel()
	<-child.Done()
	<-w.Done()
	if !errors.Is(w.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
		t.Fatalf("got %v, error of the child %v", w.Err(), child.Err())
	}
}

// release ends the context of an op.
func TestReleaseEndsTheOpContext(t *testing.T) {
	t.Parallel()
	w := newOpContext(nil, time.Now().Add(time.Hour), &request{})
	done := w.Done()
	w.release()
	<-done
	if !errors.Is(w.Err(), context.Canceled) {
		t.Fatalf("unexpected error of the context: %v", w.Err())
	}
	newOpContext(nil, time.Now().Add(time.Hour), &request{}).release() // no caller of Done or Err
}
