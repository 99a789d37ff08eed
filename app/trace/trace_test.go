package trace

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// spanList stores the recorded spans.
type spanList struct {
	mu    sync.Mutex
	spans []*Span
}

func (l *spanList) Record(s *Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, s)
}

// A span reference is parsed as it was written; any other text is rejected.
func TestParseSpanRefAcceptsOnlyItsTextForm(t *testing.T) {
	t.Parallel()
	tracer := &Tracer{Ratio: 1, Record: (&spanList{}).Record}
	for range 100 {
		span := tracer.Sample("socket", time.Now())
		text := span.SpanRef.String()
		read := ParseSpanRef(text)
		if len(text) != SpanRefLength || read == nil || *read != span.SpanRef {
			t.Fatalf("%q: got %v, want the same reference", text, read)
		}
	}
	good := tracer.Sample("http", time.Now()).SpanRef.String()
	for _, text := range []string{
		"", "-", good[:48], good + "0", strings.Replace(good, "-", "_", 1), "g" + good[1:], good[:48] + "g",
		strings.Repeat("0", 32) + good[32:], good[:33] + strings.Repeat("0", 16),
	} {
		if read := ParseSpanRef(text); read != nil {
			t.Errorf("%q: got %v, want nil", text, read)
		}
	}
}

// A nil Tracer samples nothing; with a ratio, about that part of the buys is sampled.
func TestSampleMatchesTheRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tracer    *Tracer
		low, high int
	}{
		{nil, 0, 0},
		{&Tracer{Ratio: 0}, 0, 0},
		{&Tracer{Ratio: 0.1}, 800, 1200}, // six standard deviations
		{&Tracer{Ratio: 1}, 10_000, 10_000},
	} {
		sampled := 0
		for range 10_000 {
			if c.tracer.Sample("socket", time.Time{}) != nil {
				sampled++
			}
		}
		if sampled < c.low || sampled > c.high {
			t.Errorf("%+v: got %d of 10,000 buys sampled, want %d to %d", c.tracer, sampled, c.low, c.high)
		}
	}
}
