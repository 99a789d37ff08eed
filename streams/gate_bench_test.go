package streams

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/trace"
)

// BenchmarkGate measures the cost of a buy in a node, from Reserve to its result, while many others wait for the same
// sale: the time of the whole path, including Redis and its fsync, and the allocations of this process, which groups
// share. Spans of traced buys are created and discarded; app/trace/export has the cost of sending them.
func BenchmarkGate(b *testing.B) {
	for _, c := range []struct {
		name   string
		tracer *trace.Tracer
	}{
		{"untraced", nil},
		{"traced-0.01", &trace.Tracer{Ratio: 0.01, Record: discardSpans{}.Record}},
		{"traced-1", &trace.Tracer{Ratio: 1, Record: discardSpans{}.Record}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkGate(b, c.tracer) })
	}
}

// discardSpans discards spans.
type discardSpans struct{}

func (discardSpans) Record(*trace.Span) {}

func benchmarkGate(b *testing.B, tracer *trace.Tracer) {
	f := onRedis(b)
	g := NewGate(f.inventory)
	defer g.Close()
	s := f.openSale(1<<40, func(s *shop.Sale) { s.Limit, s.Cap = 1, 1 })
	buy := buyOf(s, 0, 1, "key-bench1")
	var users atomic.Int64
	b.SetParallelism(benchCallers)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			one := buy
			one.User = shop.ID(users.Add(1))
			one.Order = shop.ID(1_791_000_000_000_000_000 + int64(one.User))
			one.Span = tracer.Sample("socket", time.Time{})
			d, err := reserveOnce(context.Background(), g, one)
			if err != nil || d.Verdict != shop.VerdictReserved {
				b.Errorf("got verdict %d, %v, want reserved", d.Verdict, err)
				return
			}
			one.Span.Finish(nil)
		}
	})
}
