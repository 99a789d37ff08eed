package streams

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/trace"
)

// spanRecorder records finished spans.
type spanRecorder struct {
	mu    sync.Mutex
	spans []*trace.Span
}

func (r *spanRecorder) Record(s *trace.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, s)
}

// traced returns the buy with a span.
func traced(b shop.Buy, to *spanRecorder) shop.Buy {
	b.Span = (&trace.Tracer{Ratio: 1, Record: to.Record}).Sample("socket", time.Now())
	return b
}

// entriesOf returns the entries of partition 1, by user.
func (f *fixture) entriesOf() map[shop.ID]redis.XMessage {
	f.t.Helper()
	list, err := f.client.XRange(f.ctx, f.inventory.parts[1].keys.orders, "-", "+").Result()
	f.must(err)
	entries := make(map[shop.ID]redis.XMessage)
	for _, m := range list {
		e := parseEntry(1, m)
		f.must(e.ParseErr)
		entries[e.User] = m
	}
	return entries
}

// Only the entry of a traced buy contains a trace. The entries of other buys are not longer. This also holds with
// passes.
func TestEntryOfATracedBuyHasItsTrace(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		g, spans := f.gate(f.inventory), &spanRecorder{}
		s, withPasses := f.openSale(5), f.openSale(5)
		issued := f.now()
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, traced(buyOf(s, 12, 1, "key-two-1"), spans), shop.VerdictReserved)
		f.wantVerdict(g, traced(passed(buyOf(withPasses, 13, 1, "key-three"), issued), spans), shop.VerdictReserved)
		f.wantVerdict(g, traced(passed(buyOf(withPasses, 13, 1, "key-four"), issued), spans), shop.VerdictPass)
		f.wantVerdict(g, traced(buyOf(s, 12, 1, "key-two-1"), spans), shop.VerdictRepeated)
		if len(spans.spans) != 4 {
			t.Fatalf("got %d spans of four calls, want 4", len(spans.spans))
		}
		entries := f.entriesOf()
		if len(entries) != 3 {
			t.Fatalf("got %d entries, want 3", len(entries))
		}
		if m := entries[11]; len(m.Values) != 1 || parseEntry(1, m).Trace != nil {
			t.Errorf("got the fields %v of an entry without a trace, want one field", m.Values)
		}
		for i, user := range []shop.ID{12, 13} {
			m, span := entries[user], spans.spans[i]
			e := parseEntry(1, m)
			if span.Name != "reserve.lua" || e.Trace == nil || *e.Trace != span.SpanRef || len(m.Values) != 2 {
				t.Errorf("got the entry %+v, want the trace of the span %+v", m.Values, span)
			}
			if e.Order == 0 || e.Ticket == 0 || e.Seq == 0 || e.Key == "" {
				t.Errorf("got the entry %+v, want order, ticket, seq and key", e)
			}
		}
	})
}

// In a group each buy has its own trace, independent of the verdicts of earlier buys.
func TestGroupedBuysKeepTheirTraces(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(4)
		keys := reserveKeys(f.inventory, s.Ref())
		ref := func(digit string) string { return strings.Repeat(digit, 32) + "-" + strings.Repeat(digit, 16) }
		args := []any{f.inventory.Epoch(1), 1 << 40, int64(s.ID), 0, 0, 0}
		for user, qty := range []int{1, 9, 1, 1} { // the second buy exceeds the stock
			args = append(args, int64(newID()), 11+user, qty, "key-of-it", "h", "")
		}
		reply, err := reserveScript.run(f.ctx, f.client, keys, append(args, "", "1="+ref("1")+" 2="+ref("2")+" 4="+ref("4")+" ")...)
		f.must(err)
		if integer(reply[0]) != codeDone {
			t.Fatalf("got the reply %v, want done", reply)
		}
		entries := f.entriesOf()
		for user, want := range map[shop.ID]string{11: ref("1"), 13: "", 14: ref("4")} {
			trace := parseEntry(1, entries[user]).Trace
			if m, there := entries[user]; !there || trace == nil != (want == "") ||
				trace != nil && trace.String() != want {
				t.Errorf("the entry of user %s is %v, want the trace %q", user, m.Values, want)
			}
		}
		if len(entries) != 3 {
			t.Errorf("got %d entries, want 3", len(entries))
		}
	})
}

// An entry with an invalid trace is still readable.
func TestInvalidTracesAreIgnored(t *testing.T) {
	t.Parallel()
	for _, invalid := range []any{"", "x", strings.Repeat("0", trace.SpanRefLength), 7, nil} {
		e := parseEntry(1, redis.XMessage{ID: "1790000000000-0", Values: map[string]any{
			"terms": "2:9:7:12:5:1:2:4990:3:beef:key-one-1:11:42:a:b", "trace": invalid,
		}})
		if e.ParseErr != nil || e.Trace != nil || e.Order != 9 {
			t.Errorf("trace %v: got %+v, want order 9 without a trace", invalid, e)
		}
	}
}

// A worker's spans continue the trace of the entry. A dead letter keeps the trace, so that operators can find the
// fault.
func TestWorkerContinuesTheTraceOfAnEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		g, spans := f.gate(f.inventory), &spanRecorder{}
		s := f.openSale(5)
		f.wantVerdict(g, traced(buyOf(s, 11, 1, "key-one-1"), spans), shop.VerdictReserved)
		e := parseEntry(1, f.entriesOf()[11])
		plain := e
		plain.Order, plain.Trace = newID(), nil
		rows := []*shop.Order{
			{ID: e.Order, Sale: s.ID, User: 11, Partition: 1, Qty: 1, State: shop.Pending, Rev: 1, PayBy: f.now()},
			{ID: plain.Order, Sale: s.ID, User: 12, Partition: 1, Qty: 1, State: shop.Pending, Rev: 1, PayBy: f.now()},
		}
		lines := string(f.inventory.Sequences().lines(rows, traces([]*shop.Entry{&e, &plain})))
		m, err := shop.ParseMessage("1 2\n" + lines)
		f.must(err)
		var found []shop.Change
		for c, err := range m.Changes() {
			f.must(err)
			found = append(found, c)
		}
		if len(found) != 2 || found[0].Trace == nil || *found[0].Trace != *e.Trace || found[1].Trace != nil {
			t.Fatalf("got the changes %+v, want two, the first with the trace", found)
		}
		if found[0].Frame != string(f.inventory.frame(rows[0])) ||
			found[1].Frame != string(f.inventory.frame(rows[1])) {
			t.Errorf("got the changes %+v, want the frames of both rows", found)
		}

		letter := parseLetter(1, redis.XMessage{ID: "1-0", Values: f.entriesOf()[11].Values})
		if letter.Fields["trace"] != e.Trace.String() || letter.Order != e.Order {
			t.Errorf("got the dead letter %+v, want the trace and the order of the entry", letter)
		}
	})
}
