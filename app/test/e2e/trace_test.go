package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"stampede/app"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// collector takes traces as OpenTelemetry's collectors do.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	spans    []*v1.Span
	raw      []byte // everything that was sent
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent v1.TracesData // on the wire the same as a request for them
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("a request to %s: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests++
		c.raw = append(c.raw, body...)
		for _, of := range sent.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// of lists the spans of the trace that has the order in a span named buy.
func (c *collector) of(order app.ID) map[string]*v1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var trace string
	for _, s := range c.spans {
		if s.Name == "buy" && noted(s, "order") == order.String() {
			trace = string(s.TraceId)
		}
	}
	spans := make(map[string]*v1.Span)
	for _, s := range c.spans {
		if trace != "" && string(s.TraceId) == trace {
			spans[s.Name] = s
		}
	}
	return spans
}

// noted is what the span notes by a name, "" when nothing.
func noted(s *v1.Span, name string) string {
	for _, a := range s.Attributes {
		if a.Key == "stampede."+name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// behind names of each span of a buy which one it is behind.
var behind = map[string]string{
	"buy": "", "reserve.lua": "buy", "entry": "reserve.lua", "fulfil": "entry", "commit": "fulfil",
	"finish.lua": "fulfil", "push": "fulfil",
}

// One buy, over a socket or HTTP, is one trace from its frame to the push, over the node that sold and the node that
// worked: spans that hang together, and say nothing of who bought.
func TestABuyIsTraced(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	traces := newCollector(t)
	sale := s.open(10, 1)
	front := s.start("STAMPEDE_ROLES=api", "STAMPEDE_OTLP_ENDPOINT="+traces.URL, "STAMPEDE_TRACE_RATIO=1")
	s.start("STAMPEDE_ROLES=worker,sweeper", "STAMPEDE_OTLP_ENDPOINT="+traces.URL, "STAMPEDE_TRACE_RATIO=0")

	for _, via := range []string{"socket", "http"} {
		user := kit.NewID()
		c, _ := login(t, front, user, "")
		buyer := &app.Address{Name: "Ada Liu", Phone: "13955512345", Text: "7 Lamp Street"}
		key := "traced-key-" + via
		var order app.ID
		if via == "socket" {
			answer, err := wsclient.Ask[app.Receipt](c.Conn, wsclient.Request{
				Op: wsclient.Buy, Sale: sale.ID, Qty: 1, Key: key, Address: buyer,
			})
			s.must(err)
			order = answer.Order
		} else {
			var answer app.Receipt
			front.expect(http.StatusOK, &answer, front.post, "/api/v1/sales/"+sale.ID.String()+"/buy", token(t, user),
				map[string]any{"qty": 1, "key": key, "address": buyer})
			order = answer.Order
		}
		var spans map[string]*v1.Span
		kit.Eventually(t, 30*time.Second, func() (bool, string) {
			spans = traces.of(order)
			return len(spans) == len(behind), fmt.Sprintf("of %d spans there are %v", len(behind), spans)
		})
		kit.Eventually(t, 30*time.Second, func() (bool, string) {
			return c.heard(order, app.Pending), "the buyer was not told what the span push says"
		})
		for name, parent := range behind {
			span := spans[name]
			var want []byte
			if parent != "" {
				want = spans[parent].SpanId
			}
			if !slices.Equal(span.ParentSpanId, want) || span.StartTimeUnixNano > span.EndTimeUnixNano ||
				span.Status.GetCode() == v1.Status_STATUS_CODE_ERROR {
				t.Errorf("%s is behind %x, want %s: %v", name, span.ParentSpanId, parent, span)
			}
		}
		if buy := spans["buy"]; noted(buy, "via") != via || noted(buy, "sale") != sale.ID.String() ||
			noted(buy, "state") != "reserved" {
			t.Errorf("the buy notes %v", buy.Attributes)
		}
		if noted(spans["entry"], "order") != order.String() || noted(spans["entry"], "entry") == "" {
			t.Errorf("the entry notes %v", spans["entry"].Attributes)
		}
		for _, secret := range []string{
			user.String(), "Ada", "13955512345", "Lamp Street", key, token(t, user)[:40], "127.0.0.1",
		} {
			if strings.Contains(string(traces.raw), secret) {
				t.Errorf("the collector is told %q", secret)
			}
		}
	}
}

// With the ratio 0 nothing is sent, and entries are as ever; without a collector the ratio is of no meaning.
func TestNothingIsTraced(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	traces := newCollector(t)
	sale := s.open(10, 1)
	for _, settings := range [][]string{
		{"STAMPEDE_OTLP_ENDPOINT=" + traces.URL, "STAMPEDE_TRACE_RATIO=0"}, {"STAMPEDE_TRACE_RATIO=1"},
	} {
		n := s.start(settings...)
		user := kit.NewID()
		c, _ := login(t, n, user, "")
		answer, err := c.BuyUntilKnown(sale.ID, 1, "untraced-key")
		s.must(err)
		kit.Eventually(t, 30*time.Second, func() (bool, string) {
			return c.heard(answer.Order, app.Pending), "the order is not told"
		})
		if code := n.stop(); code != 0 {
			t.Errorf("it exits %d", code)
		}
	}
	entries, err := s.redis.XRange(kit.Context(t), streamKey(sale), "-", "+").Result()
	s.must(err)
	for _, e := range entries {
		if len(e.Values) != 1 || e.Values["terms"] == nil {
			t.Errorf("an entry has %v", e.Values)
		}
	}
	if traces.requests != 0 || len(entries) < 2 {
		t.Errorf("%d requests to the collector, %d entries", traces.requests, len(entries))
	}
}

// A collector that is away changes nothing but one line of the log: buys are answered and told, and a shutdown waits no
// longer than it says.
func TestTheCollectorIsAway(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	hang := make(chan struct{})
	traces := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(traces.Close)
	t.Cleanup(func() { close(hang) })
	sale := s.open(100, 1)
	for name, endpoint := range map[string]string{"away": "http://" + freeAddr(t), "hangs": traces.URL} {
		n := s.start("STAMPEDE_OTLP_ENDPOINT="+endpoint, "STAMPEDE_TRACE_RATIO=1", "STAMPEDE_RETURN_WITHIN=0s")
		for i := range 20 {
			c, _ := login(t, n, kit.NewID(), "")
			answer, err := c.BuyUntilKnown(sale.ID, 1, fmt.Sprintf("away-key-%d", i))
			s.must(err)
			kit.Eventually(t, 30*time.Second, func() (bool, string) {
				return c.heard(answer.Order, app.Pending), "the order is not told"
			})
		}
		kit.Eventually(t, 30*time.Second, func() (bool, string) {
			return strings.Contains(n.log.String(), "does not take traces"), "the log does not say that they are lost"
		})
		begin := time.Now()
		if code := n.stop(); code != 0 {
			t.Errorf("%s: it exits %d", name, code)
		}
		if took := time.Since(begin); took > 15*time.Second { // 2 s of it for the collector
			t.Errorf("%s: the shutdown took %v", name, took)
		}
		if lines := strings.Count(n.log.String(), "does not take traces"); lines != 1 {
			t.Errorf("%s: the log says so %d times", name, lines)
		}
	}
	s.drained(sale, 30*time.Second)
	s.audit(sale)
}
