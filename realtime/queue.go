package realtime

import (
	"context"
	"sync"
)

// queue gathers what waits for a read, the longest waiting first: while reads are under way others come, and the next
// read, which begins after that, is for all of them. So who comes alone is served at once, and when thousands come
// together, the database is not asked once for each.
type queue[T any] struct {
	mu      sync.Mutex
	waiting []T
	more    chan struct{} // has room for a signal to each reader
}

func newQueue[T any](readers int) *queue[T] { return &queue[T]{more: make(chan struct{}, readers)} }

func (q *queue[T]) add(some ...T) {
	q.mu.Lock()
	q.waiting = append(q.waiting, some...)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default: // as many readers as there are will look
	}
}

// next takes out what one read is for.
func (q *queue[T]) next() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), groupUsers)
	some := q.waiting[:n:n]
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil
	}
	return some
}

// serve reads for what waits, group by group, until ctx ends or read fails.
func (q *queue[T]) serve(ctx context.Context, read func(ctx context.Context, some []T) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.more:
		}
		for some := q.next(); len(some) > 0; some = q.next() {
			if err := read(ctx, some); err != nil {
				return err
			}
		}
	}
}
