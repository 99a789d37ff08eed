package shop

import (
	"context"
	"sync"
)

// SharedLoad runs at most one load per key at a time. Its zero value is ready for use.
type SharedLoad[K comparable, V any] struct {
	mu      sync.Mutex
	running map[K]*loading[V]
}

type loading[V any] struct {
	done  chan struct{} // closed when value and err are set
	value V
	err   error
}

// Do returns the result of load, or of a running load of the same key. A caller whose ctx ends returns at once; the
// load continues for the others.
func (s *SharedLoad[K, V]) Do(ctx context.Context, key K, load func() (V, error)) (V, error) {
	s.mu.Lock()
	running := s.running[key]
	if running == nil {
		if s.running == nil {
			s.running = make(map[K]*loading[V])
		}
		running = &loading[V]{done: make(chan struct{})}
		s.running[key] = running
		go func() {
			running.value, running.err = load()
			s.mu.Lock()
			delete(s.running, key)
			s.mu.Unlock()
			close(running.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-running.done:
		return running.value, running.err
	case <-ctx.Done():
		var none V
		return none, Unavailable("the sale", ctx.Err())
	}
}
