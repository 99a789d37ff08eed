package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/fakes"
	"stampede/app/trace"
)

// spanRecorder stores the finished spans.
type spanRecorder struct {
	mu    sync.Mutex
	spans []*trace.Span
}

func (r *spanRecorder) Record(s *trace.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, s)
}

// named returns the only span with the name.
func (r *spanRecorder) named(t *testing.T, name string) *trace.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *trace.Span
	for _, s := range r.spans {
		if s.Name == name {
			if found != nil {
				t.Fatalf("several spans named %q, want one", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("no span %q among %d", name, len(r.spans))
	}
	return found
}

// inlineGate replies at once and records the buy.
type inlineGate struct {
	result  shop.GateResult
	err     error
	attempt shop.Buy
}

func (g *inlineGate) Reserve(b shop.Buy, _ time.Time, then func(shop.GateResult, error)) {
	d := g.result
	g.attempt, d.Order = b, b.Order
	then(d, g.err)
}

func tracedCheckout(t *testing.T, g Gate) *Checkout {
	t.Helper()
	return &Checkout{
		Catalogue: catalogueOf(
			t, shop.Sale{ID: 7, OpensAt: 1, ClosesAt: 2, Limit: 2},
		), Gate: g, SoldOut: NewSoldOutFlags(nil), Clock: shop.NewClock(),
		Mint: func() (shop.ID, error) { return 11, nil },
	}
}

// The span of a buy ends with the reply, records its result, and has no data of the buyer.
func TestBuysAreTraced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		gate   inlineGate
		failed shop.Code
		notes  []trace.SpanNote
	}{
		{
			"reserved",
			inlineGate{result: shop.GateResult{Verdict: shop.VerdictReserved, Ticket: 1}},
			"",
			[]trace.SpanNote{{Name: "via", Text: "socket"}, {Name: "sale", Text: "7"}, {Name: "order", Text: "11"}, {Name: "state", Text: "reserved"}},
		},
		{
			"sold out",
			inlineGate{result: shop.GateResult{Verdict: shop.VerdictSoldOut, Free: 1}},
			shop.SoldOut,
			[]trace.SpanNote{{Name: "via", Text: "socket"}, {Name: "sale", Text: "7"}},
		},
		{
			"unknown outcome",
			inlineGate{err: fmt.Errorf("ada@example.com: %w", shop.ErrTransient)},
			shop.Busy,
			[]trace.SpanNote{{Name: "via", Text: "socket"}, {Name: "sale", Text: "7"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spans := &spanRecorder{}
			req := BuyRequest{Sale: 7, Qty: 1, Key: "key-0001", Address: &shop.Address{Name: "Ada", Phone: "5551234", Text: "Home"}}
			req.Span = (&trace.Tracer{Ratio: 1, Record: spans.Record}).Sample("socket", time.Now())
			replies := 0
			tracedCheckout(t, &c.gate).BuyAsync(t.Context(), 5, req, func(Receipt, error) {
				replies++
				if len(spans.spans) != 0 {
					t.Error("the span ended before the buyer got the result")
				}
			})
			span := spans.named(t, "buy")
			if replies != 1 || span.ErrorCode != string(c.failed) || !slices.Equal(span.Notes, c.notes) ||
				span.End.Before(span.Begin) {
				t.Errorf("got %d replies and span %+v, want 1 reply, notes %+v and error code %q", replies, span, c.notes, c.failed)
			}
			if c.gate.attempt.Span != req.Span {
				t.Error("the gate call has no span")
			}
		})
	}
}

// An untraced buy allocates as much as a buy without a tracer: untracedAllocations.
func TestUntracedBuysAllocateNoMoreThanWithoutTracer(t *testing.T) {
	checkout := tracedCheckout(t, &inlineGate{result: shop.GateResult{Verdict: shop.VerdictReserved, Ticket: 1}})
	ctx := context.Background()
	buying := func(tracer *trace.Tracer) float64 {
		return testing.AllocsPerRun(200, func() {
			req := BuyRequest{Sale: 7, Qty: 1, Key: "key-0001", Span: tracer.Sample("socket", time.Time{})}
			checkout.BuyAsync(ctx, 5, req, func(Receipt, error) {})
		})
	}
	none, off, on := buying(nil), buying(
		&trace.Tracer{Ratio: 0, Record: (&spanRecorder{}).Record},
	), buying(&trace.Tracer{Ratio: 1, Record: (&spanRecorder{}).Record})
	if none != untracedAllocations || off != none || on <= none {
		t.Errorf("got allocations: %v without a tracer, %v untraced, %v traced; want %d, %d and more", none, off, on, untracedAllocations,
			untracedAllocations)
	}
}

// untracedAllocations is the number of allocations of an untraced buy: the buying and the callback of the gate.
const untracedAllocations = 2

// A rejection by the sold-out flag allocates nothing. It is the result of most buys in a hot sale.
func TestSoldOutRejectionAllocatesNothing(t *testing.T) {
	checkout := tracedCheckout(t, &inlineGate{})
	now := time.Now()
	checkout.Catalogue = catalogueOf(t, shop.Sale{ID: 7, OpensAt: 1, ClosesAt: 1 << 43})
	checkout.SoldOut.flags[7] = &soldOutFlag{lastRejection: now.Add(time.Hour), until: now.Add(time.Hour)}
	counts, _ := newCounts("1", &fakeFigures{})
	checkout.Counts = &board.BuyCounts{Sales: counts}
	ctx := context.Background()
	reply := func(_ Receipt, err error) {
		if err != error(errSoldOut) {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(200, func() {
		checkout.BuyAsync(ctx, 5, BuyRequest{Sale: 7, Qty: 1, Key: "key-0001"}, reply)
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// A traced entry is followed through its batch to the publishing node. Other entries of the batch are not traced.
func TestFulfilmentIsTraced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault error // from the database
		spans []string
	}{
		{"row written", nil, []string{"commit", "entry", "finish.lua", "fulfil"}},
		{"database unreachable", fmt.Errorf("host db-1: %w", shop.ErrTransient), []string{"commit", "entry", "fulfil"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spans := &spanRecorder{}
			tracer := &trace.Tracer{Ratio: 1, Record: spans.Record}
			bought := tracer.Sample("socket", time.Now())
			tr := &fakes.Trace{}
			store := &faultyStore{Trace: tr, transient: c.fault}
			tracedRedis := &tracedInventory{Redis: fakes.Redis{Trace: tr, Published: &fakes.Notifier{Trace: tr}}}
			f := &Fulfiller{
				Catalogue: catalog.NewCatalogue(oneSale{}, oneSale{}, nil, time.UTC), Stock: tracedRedis, Store: store,
				Effects: effectsOf(tracedRedis, store, tracedRedis.Published), PayWindow: time.Minute, Tracer: tracer,
			}
			now := shop.MillisOf(time.Now())
			entries := []shop.Entry{
				{StreamID: "1-0", Order: 1, Sale: 7, User: 9, Epoch: 1, Ticket: 1, Qty: 1, ReservedAt: now},
				{
					StreamID: "2-0", Order: 2, Sale: 7, User: 9, Epoch: 1, Ticket: 2, Qty: 1, ReservedAt: now,
					Trace: &bought.SpanRef,
				},
			}
			if _, err := f.Fulfil(t.Context(), entries); !errors.Is(err, c.fault) {
				t.Fatal(err)
			}
			var names []string
			for _, s := range spans.spans {
				names = append(names, s.Name)
				if s.Trace != bought.Trace {
					t.Errorf("span %q belongs to another trace", s.Name)
				}
			}
			if slices.Sort(names); !slices.Equal(names, c.spans) {
				t.Fatalf("got spans %q, want %q", names, c.spans)
			}
			entry, fulfil, commit := spans.named(t, "entry"), spans.named(t, "fulfil"), spans.named(t, "commit")
			if entry.Parent != bought.ID || fulfil.Parent != entry.ID || commit.Parent != fulfil.ID {
				t.Error("want the spans buy, entry, fulfil, commit as a chain of parents")
			}
			if failed := c.fault != nil; failed != (commit.ErrorCode == string(shop.Internal)) ||
				failed != (fulfil.ErrorCode == string(shop.Internal)) {
				t.Errorf("got error codes %q of commit and %q of fulfil, want errors: %v", commit.ErrorCode, fulfil.ErrorCode,
					failed)
			}
			if c.fault == nil && (tracedRedis.traces[0] != nil || *tracedRedis.traces[1] != fulfil.SpanRef) {
				t.Errorf("got the traces %v of the published orders, want none and the span fulfil", tracedRedis.traces)
			}
			if entries[1].Trace != &bought.SpanRef {
				t.Error("Fulfil changed the batch, but a retry needs it unchanged")
			}
		})
	}
}

// tracedInventory records the traces of the finished entries.
type tracedInventory struct {
	fakes.Redis
	traces []*trace.SpanRef
}

func (t *tracedInventory) Finish(
	ctx context.Context, p int, asOf shop.Millis, rows []*shop.Order, entries []*shop.Entry,
) error {
	for _, e := range entries {
		t.traces = append(t.traces, e.Trace)
	}
	return t.Redis.Finish(ctx, p, asOf, rows, entries)
}
