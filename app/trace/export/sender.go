package export

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// sender sends spans. It logs only the first failure and the first success afterwards.
type sender struct {
	sdk.SpanExporter
	host string // of the collector, for the log

	waiting atomic.Int64 // recorded spans that are not being sent
	lost    atomic.Int64 // spans since the start that no collector has received
	ended   atomic.Bool  // the shutdown no longer waits for unsent spans

	mu      sync.Mutex
	failing bool
	dropped int // spans since the first failure
}

// ExportSpans never returns an error: a retry has no benefit, and the library would log each error.
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
		slog.Info("the collector accepts traces again", "collector", s.host, "lost", s.dropped)
	}
	s.failing, s.dropped = false, 0
	return nil
}

// admit reports whether one more span fits; otherwise the span is lost.
func (s *sender) admit() bool {
	if s.waiting.Add(1) <= maxWaiting {
		return true
	}
	s.waiting.Add(-1)
	s.lost.Add(1)
	return false
}

// stopSending ends the sending: the waiting spans were not accepted in time. Their number is not counted.
func (s *sender) stopSending(err error) {
	s.ended.Store(true)
	s.drop(0, err)
}

func (s *sender) drop(spans int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failing {
		slog.Warn("the collector does not accept traces; they are dropped until it does",
			"collector", s.host, "err", err)
	}
	s.failing = true
	s.dropped += spans
	s.lost.Add(int64(spans))
}
