package export

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"stampede/app/shop"
	"stampede/app/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector stores the received spans.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*v1.Span
	resource map[string]string
	fails    bool
	requests chan struct{}
}

func newCollector(t *testing.T) *collector {
	c := &collector{resource: make(map[string]string), requests: make(chan struct{}, 1000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent v1.TracesData // the same encoding as a request
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		defer func() { c.requests <- struct{}{} }()
		if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || err != nil || c.fails {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		for _, resourceSpans := range sent.ResourceSpans {
			for _, a := range resourceSpans.Resource.Attributes {
				c.resource[a.Key] = a.Value.GetStringValue()
			}
			for _, scope := range resourceSpans.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) setFailing(fails bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = fails
}

// Spans reach the collector unchanged: their ids, parents, times, notes and errors.
func TestSpansReachTheCollector(t *testing.T) {
	c := newCollector(t)
	e, err := New(c.URL, Node{"shop-1", "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	tracer := &trace.Tracer{Ratio: 1, Record: e.Record}
	buy := tracer.Sample("socket", time.Now().Add(-time.Second))
	child := buy.Child("reserve.lua")
	child.NoteNumber("buys", 3)
	child.Finish(shop.Fail(shop.SoldOut, "ada@example.com was too late"))
	buy.Finish(nil)
	e.Close() // sends the waiting spans
	if c.resource["service.name"] != "stampede" || c.resource["service.instance.id"] != "shop-1" ||
		c.resource["service.version"] != "1.2.3" {
		t.Errorf("got resource %v, want the service stampede, the node shop-1 and the version 1.2.3", c.resource)
	}
	if len(c.spans) != 2 {
		t.Fatalf("got %d spans, want 2", len(c.spans))
	}
	first, second := c.spans[0], c.spans[1]
	if second.Name != "buy" || !bytes.Equal(second.TraceId, buy.Trace[:]) || !bytes.Equal(second.SpanId, buy.ID[:]) ||
		len(second.ParentSpanId) != 0 || second.StartTimeUnixNano != uint64(buy.Begin.UnixNano()) ||
		second.EndTimeUnixNano != uint64(buy.End.UnixNano()) {
		t.Errorf("unexpected span buy: %v", second)
	}
	if first.Name != "reserve.lua" || !bytes.Equal(first.TraceId, buy.Trace[:]) ||
		!bytes.Equal(first.SpanId, child.ID[:]) || !bytes.Equal(first.ParentSpanId, buy.ID[:]) ||
		first.Status.Code != v1.Status_STATUS_CODE_ERROR || first.Status.Message != "sold_out" ||
		first.Attributes[0].Key != "stampede.buys" || first.Attributes[0].Value.GetIntValue() != 3 {
		t.Errorf("unexpected child span: %v", first)
	}
}

// TestCollectorFailureAndRecoveryAreLoggedOnce: the log has one line when the collector fails and one when it recovers.
func TestCollectorFailureAndRecoveryAreLoggedOnce(t *testing.T) {
	var log logBuffer
	log.capture(t)
	c := newCollector(t)
	c.setFailing(true)
	e, err := New(c.URL, Node{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tracer := &trace.Tracer{Ratio: 1, Record: e.Record}
	send := func() {
		tracer.Sample("socket", time.Now()).Finish(nil)
		if err := e.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-c.requests
	}
	for range 5 {
		send()
	}
	c.setFailing(false)
	for range 3 {
		send()
	}
	text := log.String()
	if strings.Count(text, "does not accept traces") != 1 || strings.Count(text, "accepts traces again") != 1 ||
		e.Lost() != 5 || !strings.Contains(text, "lost=5") || strings.Count(text, "\n") != 2 {
		t.Errorf("unexpected log:\n%s", text)
	}
}

// TestHangingCollectorBlocksNeitherRecordNorClose: a collector that does not respond blocks no caller of Record, even
// if the queue is full, and delays Close only for a short time.
func TestHangingCollectorBlocksNeitherRecordNorClose(t *testing.T) {
	var log logBuffer
	log.capture(t)
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	e, err := New(server.URL, Node{})
	if err != nil {
		t.Fatal(err)
	}
	tracer := &trace.Tracer{Ratio: 1, Record: e.Record}
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		for range 3 * maxWaiting {
			tracer.Sample("socket", time.Now()).Finish(nil)
		}
	}()
	select {
	case <-recorded:
	case <-time.After(time.Minute): // waiting for one hanging request after the other takes minutes
		t.Fatalf("%d spans were not accepted within a minute", 3*maxWaiting)
	}
	if lost := e.Lost(); lost < 2*maxWaiting-maxBatch || lost > 2*maxWaiting {
		t.Errorf("got %d lost spans, want all except %d of %d", lost, maxWaiting, 3*maxWaiting)
	}
	begin := time.Now()
	e.Close()
	if took := time.Since(begin); took > 10*closeTimeout { // sending all waiting spans would take 80 s
		t.Errorf("closing took %v, want at most %v", took, 10*closeTimeout)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("got %d log lines, want 1:\n%s", n, log.String())
	}
}

// BenchmarkRecord measures the cost of a traced buy for the selling node: two spans, sending included. Batches that do
// not fit into the queue are lost, as in production.
func BenchmarkRecord(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	e, err := New(server.URL, Node{"shop-1", "1.2.3"})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	tracer := &trace.Tracer{Ratio: 1, Record: e.Record}
	b.ReportAllocs()
	for b.Loop() {
		buy := tracer.Sample("socket", time.Now())
		buy.NoteID("sale", 7301444403200000101)
		child := buy.Child("reserve.lua")
		child.NoteNumber("buys", 180)
		child.Finish(nil)
		buy.NoteID("order", 7301444480512000257)
		buy.Finish(nil)
	}
}

// logBuffer captures the log of the process.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) capture(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
}
