package export

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// sender sends spans, and keeps to itself that it could not: it says so once, and once when it can again.
type sender struct {
	sdk.SpanExporter
	host string // of the collector, for the log

	waiting atomic.Int64 // spans that were recorded and are not on their way
	lost    atomic.Int64 // spans since the start that no collector has
	ended   atomic.Bool  // nobody waits any more for what is not sent

	mu      sync.Mutex
	failing bool
	dropped int // spans since it fails
}

// ExportSpans never fails: to try again is of no use to anybody, and the library would log each time.
func (s *sender) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	s.waiting.Add(-int64(len(spans)))
	if s.ended.Load() {
		return nil
	}
	if err := s.SpanExporter.ExportSpans(ctx, spans); err != nil {
		s.drop(len(spans), err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		slog.Info("the collector takes traces again", "collector", s.host, "lost", s.dropped)
	}
	s.failing, s.dropped = false, 0
	return nil
}

// admit reports whether there is room for one more span; one for which there is none is lost.
func (s *sender) admit() bool {
	if s.waiting.Add(1) <= maxWaiting {
		return true
	}
	s.waiting.Add(-1)
	s.lost.Add(1)
	return false
}

// unsent ends the sending: what waits was not taken in time. How much it is, nobody asks any more.
func (s *sender) unsent(err error) {
	s.ended.Store(true)
	s.drop(0, err)
}

func (s *sender) drop(spans int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failing {
		slog.Warn("the collector does not take traces; they are dropped until it does, and nothing else changes",
			"collector", s.host, "err", err)
	}
	s.failing = true
	s.dropped += spans
	s.lost.Add(int64(spans))
}
