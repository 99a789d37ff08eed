package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// kept keeps the spans that it is given.
type kept struct {
	mu    sync.Mutex
	spans []*Span
}

func (k *kept) Record(s *Span) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, s)
}

// named is the only span of the name.
func (k *kept) named(t *testing.T, name string) *Span {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	var found *Span
	for _, s := range k.spans {
		if s.Name == name {
			if found != nil {
				t.Fatalf("several spans %q", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("no span %q among %d", name, len(k.spans))
	}
	return found
}

// A name of a span is read as it was written; whatever else comes in its place is nobody's.
func TestNamesOfSpans(t *testing.T) {
	t.Parallel()
	tracer := &Tracer{Ratio: 1, To: &kept{}}
	for range 100 {
		span := tracer.Sample("socket", time.Now())
		text := span.SpanRef.String()
		read := ParseSpanRef(text)
		if len(text) != SpanRefLength || read == nil || *read != span.SpanRef {
			t.Fatalf("%q is read as %v", text, read)
		}
	}
	good := tracer.Sample("http", time.Now()).SpanRef.String()
	for _, text := range []string{
		"", "-", good[:48], good + "0", strings.Replace(good, "-", "_", 1), "g" + good[1:], good[:48] + "g",
		strings.Repeat("0", 32) + good[32:], good[:33] + strings.Repeat("0", 16),
	} {
		if read := ParseSpanRef(text); read != nil {
			t.Errorf("%q is read as %v", text, read)
		}
	}
}

// Nobody who does not trace samples anything, and with a ratio about as many are sampled as it says.
func TestHowManyAreSampled(t *testing.T) {
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
			t.Errorf("%+v samples %d of 10,000", c.tracer, sampled)
		}
	}
}

// A change of a buy that is traced says so to the node that reads it, and to nobody else: the frame is as if it were
// not, and changes beside it are what they are.
func TestChangesCarryTraces(t *testing.T) {
	t.Parallel()
	ref := (&Tracer{Ratio: 1}).Sample("socket", time.Time{}).SpanRef
	frame := `{"ev":"order","key":"k","order":{"id":"5"}}`
	text := []byte("7 8\n")
	text = AppendChange(text, 1, []byte(frame))
	text = AppendTraced(text, 2, []byte(frame), ref)
	text = AppendChange(text, 3, []byte(frame))
	if !strings.Contains(string(text), "2 "+strings.TrimSuffix(frame, "}")+`,"trace":"`+ref.String()+`"}`+"\n") {
		t.Errorf("nodes that know nothing of traces cannot take it for a frame: %s", text)
	}
	m, err := ParseMessage(string(text))
	must(t, err)
	changes, err := changesOf(m)
	if err != nil || len(changes) != 3 {
		t.Fatalf("%v, %v", changes, err)
	}
	for i, c := range changes {
		if c.User != ID(i+1) || c.Frame != frame {
			t.Errorf("change %+v", c)
		}
		if traced := c.Trace != nil; traced != (i == 1) || traced && *c.Trace != ref {
			t.Errorf("change of user %s has the trace %v", c.User, c.Trace)
		}
	}
	// What only looks like a trace stays where it is.
	for _, odd := range []string{`{"a":"b"}`, `{"a":1,"trace":"` + strings.Repeat("x", SpanRefLength) + `"}`} {
		if plain, trace := untracedFrame(odd); plain != odd || trace != nil {
			t.Errorf("%s is read as %s with the trace %v", odd, plain, trace)
		}
	}
}

// inlineGate answers at once, and keeps what it was asked.
type inlineGate struct {
	answer GateAnswer
	err    error
	asked  Buy
}

func (g *inlineGate) Reserve(b Buy, _ time.Time, then func(GateAnswer, error)) {
	d := g.answer
	g.asked, d.Order = b, b.Order
	then(d, g.err)
}

func tracedCheckout(t *testing.T, g Gate) *Checkout {
	t.Helper()
	return &Checkout{
		Catalogue: catalogueOf(t, Sale{ID: 7, OpensAt: 1, ClosesAt: 2, Limit: 2}), Gate: g, SoldOut: NewSoldOutFlags(nil), Clock: NewClock(),
		Mint: func() (ID, error) { return 11, nil },
	}
}

// The span of a buy ends when its buyer is told, with what that was, and says nothing of the buyer.
func TestBuysAreTraced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		gate   inlineGate
		failed Code
		notes  []SpanNote
	}{
		{
			"reserved",
			inlineGate{answer: GateAnswer{Verdict: VerdictReserved, Ticket: 1}},
			"",
			[]SpanNote{{Name: "via", Text: "socket"}, {Name: "sale", Text: "7"}, {Name: "order", Text: "11"}, {Name: "state", Text: "reserved"}},
		},
		{
			"sold out",
			inlineGate{answer: GateAnswer{Verdict: VerdictSoldOut, Free: 1}},
			SoldOut,
			[]SpanNote{{Name: "via", Text: "socket"}, {Name: "sale", Text: "7"}},
		},
		{
			"unknown",
			inlineGate{err: fmt.Errorf("ada@example.com: %w", ErrTransient)},
			Busy,
			[]SpanNote{{Name: "via", Text: "socket"}, {Name: "sale", Text: "7"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spans := &kept{}
			req := BuyRequest{Sale: 7, Qty: 1, Key: "key-of-it", Address: &Address{Name: "Ada", Phone: "5551234", Text: "Home"}}
			req.Span = (&Tracer{Ratio: 1, To: spans}).Sample("socket", time.Now())
			told := 0
			tracedCheckout(t, &c.gate).BuyThen(t.Context(), 5, req, func(Receipt, error) {
				told++
				if len(spans.spans) != 0 {
					t.Error("the span ended before the buyer was told")
				}
			})
			span := spans.named(t, "buy")
			if told != 1 || span.Failed != string(c.failed) || !slices.Equal(span.Notes, c.notes) ||
				span.End.Before(span.Begin) {
				t.Errorf("told %d times; span %+v, want %+v and failed %q", told, span, c.notes, c.failed)
			}
			if c.gate.asked.Span != req.Span {
				t.Error("the gate does not know that the buy is traced")
			}
		})
	}
}

// A buy that nobody traces allocates no more than when there is no tracer at all, and as much as before there was one.
func TestUntracedBuysAllocateNothingMore(t *testing.T) {
	checkout := tracedCheckout(t, &inlineGate{answer: GateAnswer{Verdict: VerdictReserved, Ticket: 1}})
	ctx := context.Background()
	buying := func(tracer *Tracer) float64 {
		return testing.AllocsPerRun(200, func() {
			req := BuyRequest{Sale: 7, Qty: 1, Key: "key-of-it", Span: tracer.Sample("socket", time.Time{})}
			checkout.BuyThen(ctx, 5, req, func(Receipt, error) {})
		})
	}
	none, off, on := buying(nil), buying(&Tracer{Ratio: 0, To: &kept{}}), buying(&Tracer{Ratio: 1, To: &kept{}})
	if none != untracedAllocations || off != none || on <= none {
		t.Errorf("%v without a tracer, %v untraced, %v traced; want %d, %d and more", none, off, on, untracedAllocations,
			untracedAllocations)
	}
}

// untracedAllocations are those of BuyThen before anything could be traced: its closures and the deadline of the gate.
const untracedAllocations = 2

// An entry that is traced is followed through its batch to the node that tells; entries beside it are not.
func TestFulfilmentIsTraced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault error // of the database
		spans []string
	}{
		{"written", nil, []string{"commit", "entry", "finish.lua", "fulfil"}},
		{"away", fmt.Errorf("host db-1: %w", ErrTransient), []string{"commit", "entry", "fulfil"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spans := &kept{}
			tracer := &Tracer{Ratio: 1, To: spans}
			bought := tracer.Sample("socket", time.Now())
			tr := &trace{}
			store := &faultyStore{trace: tr, transient: c.fault}
			handed := &handingInventory{fakeInventory: fakeInventory{trace: tr, notifier: &fakeNotifier{trace: tr}}}
			f := &Fulfiller{
				Catalogue: NewCatalogue(oneSale{}, nil, time.UTC), Inventory: handed, Orders: store,
				Effects: effectsOf(handed, store, handed.notifier), PayWindow: time.Minute, Tracer: tracer,
			}
			now := MillisOf(time.Now())
			entries := []Entry{
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
					t.Errorf("span %q is of another trace", s.Name)
				}
			}
			if slices.Sort(names); !slices.Equal(names, c.spans) {
				t.Fatalf("spans %q, want %q", names, c.spans)
			}
			entry, fulfil, commit := spans.named(t, "entry"), spans.named(t, "fulfil"), spans.named(t, "commit")
			if entry.Parent != bought.ID || fulfil.Parent != entry.ID || commit.Parent != fulfil.ID {
				t.Error("the spans do not hang together")
			}
			if failed := c.fault != nil; failed != (commit.Failed == string(Internal)) ||
				failed != (fulfil.Failed == string(Internal)) {
				t.Errorf("commit failed %q, fulfil %q", commit.Failed, fulfil.Failed)
			}
			if c.fault == nil && (handed.traces[0] != nil || *handed.traces[1] != fulfil.SpanRef) {
				t.Errorf("what is told goes on at %v", handed.traces)
			}
			if entries[1].Trace != &bought.SpanRef {
				t.Error("the batch was changed: it may have to be tried again")
			}
		})
	}
}

// handingInventory notes where the traces of what it finishes go on.
type handingInventory struct {
	fakeInventory
	traces []*SpanRef
}

func (h *handingInventory) Finish(ctx context.Context, p int, asOf Millis, rows []*Order, entries []*Entry) error {
	for _, e := range entries {
		h.traces = append(h.traces, e.Trace)
	}
	return h.fakeInventory.Finish(ctx, p, asOf, rows, entries)
}
