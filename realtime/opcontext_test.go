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
	opCtx := newOpContext(nil, end, &request{})
	defer opCtx.release()
	if at, ok := opCtx.Deadline(); !ok || !at.Equal(end) {
		t.Fatalf("got deadline %v, %v; want %v", at, ok, end)
	}
	if err := opCtx.Err(); err != nil && time.Now().Before(end) {
		t.Fatalf("the context ended before its deadline: %v", err)
	}
	child, cancel := context.WithCancel(opCtx)
	defer cancel()
	<-child.Done()
	<-opCtx.Done()
	if !errors.Is(opCtx.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
		t.Fatalf("got error %v of the context and %v of its child", opCtx.Err(), child.Err())
	}
}

// release ends the context of an op.
func TestReleaseEndsTheOpContext(t *testing.T) {
	t.Parallel()
	opCtx := newOpContext(nil, time.Now().Add(time.Hour), &request{})
	done := opCtx.Done()
	opCtx.release()
	<-done
	if !errors.Is(opCtx.Err(), context.Canceled) {
		t.Fatalf("unexpected error of the context: %v", opCtx.Err())
	}
	newOpContext(nil, time.Now().Add(time.Hour), &request{}).release() // no caller of Done or Err
}
