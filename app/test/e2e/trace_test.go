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

	"go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// collector receives traces as an OpenTelemetry collector does.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	spans    []*v1.Span
	raw      []byte // all received bytes
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent v1.TracesData // has the wire format of the export request
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
		for _, resource := range sent.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// spansOf returns the spans of the order's trace by name. The trace is the one whose span `buy` has this order id.
func (c *collector) spansOf(placed shop.ID) map[string]*v1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var trace string
	for _, s := range c.spans {
		if s.Name == "buy" && attribute(s, "order") == placed.String() {
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

// attribute returns an attribute of a span, or "" if it is missing.
func attribute(s *v1.Span, name string) string {
	for _, a := range s.Attributes {
		if a.Key == "stampede."+name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// spanParents maps each span of a buy to its parent.
var spanParents = map[string]string{
	"buy": "", "reserve.lua": "buy", "entry": "reserve.lua", "fulfil": "entry", "commit": "fulfil",
	"finish.lua": "fulfil", "push": "fulfil",
}

// One buy, over a socket or HTTP, is one trace from its frame to the push, across the selling node and the worker. The
// spans are connected and contain no data about the buyer.
func TestABuyIsTraced(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	traces := newCollector(t)
	sale := s.open(10, 1)
	apiNode := s.start("STAMPEDE_ROLES=api", "STAMPEDE_OTLP_ENDPOINT="+traces.URL, "STAMPEDE_TRACE_RATIO=1")
	s.start("STAMPEDE_ROLES=worker,sweeper", "STAMPEDE_OTLP_ENDPOINT="+traces.URL, "STAMPEDE_TRACE_RATIO=0")

	for _, via := range []string{"socket", "http"} {
		user := kit.NewID()
		c, _ := login(t, apiNode, user, "")
		address := &shop.Address{Name: "Ada Liu", Phone: "13955512345", Text: "7 Lamp Street"}
		key := "traced-key-" + via
		var placed shop.ID
		if via == "socket" {
			receipt, err := wsclient.Call[order.Receipt](c.Conn, wsclient.Request{
				Op: wsclient.Buy, Sale: sale.ID, Qty: 1, Key: key, Address: address,
			})
			s.must(err)
			placed = receipt.Order
		} else {
			var receipt order.Receipt
			apiNode.expect(http.StatusOK, &receipt, apiNode.post, "/api/v1/sales/"+sale.ID.String()+"/buy", token(t, user),
				map[string]any{"qty": 1, "key": key, "address": address})
			placed = receipt.Order
		}
		var spans map[string]*v1.Span
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			spans = traces.spansOf(placed)
			return len(spans) == len(spanParents), fmt.Sprintf("want %d spans, got %v", len(spanParents), spans)
		})
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			return c.received(placed, shop.Pending), "the buyer did not receive the order event"
		})
		for name, parent := range spanParents {
			span := spans[name]
			var want []byte
			if parent != "" {
				want = spans[parent].SpanId
			}
			if !slices.Equal(span.ParentSpanId, want) || span.StartTimeUnixNano > span.EndTimeUnixNano ||
				span.Status.GetCode() == v1.Status_STATUS_CODE_ERROR {
				t.Errorf("span %s has the parent %x, want %s: %v", name, span.ParentSpanId, parent, span)
			}
		}
		if buy := spans["buy"]; attribute(buy, "via") != via || attribute(buy, "sale") != sale.ID.String() ||
			attribute(buy, "state") != "reserved" {
			t.Errorf("the span buy has the attributes %v", buy.Attributes)
		}
		if attribute(spans["entry"], "order") != placed.String() || attribute(spans["entry"], "entry") == "" {
			t.Errorf("the span entry has the attributes %v", spans["entry"].Attributes)
		}
		for _, personal := range []string{
			user.String(), "Ada", "13955512345", "Lamp Street", key, token(t, user)[:40], "127.0.0.1",
		} {
			if strings.Contains(string(traces.raw), personal) {
				t.Errorf("the collector received %q, want no personal data", personal)
			}
		}
	}
}
