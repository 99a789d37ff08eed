package wsclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app/admission"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

const (
	protocol = "../../realtime/testdata/protocol"
	sale     = shop.ID(7301444403200000101)
	orderID  = shop.ID(7301444480512000257)
	key      = "k-3f9c1d2e"
)

// strictly decodes JSON and rejects unknown fields.
func decodeStrictly(t *testing.T, name string, text []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Golden client frames fit into a Request, and its encoding equals the golden frame byte for byte.
func TestRequestsEqualGoldenFrames(t *testing.T) {
	t.Parallel()
	golden := kit.GoldenFrames(t, protocol, "client")
	unseen := slices.Clone(Ops)
	for name, frame := range golden {
		var r Request
		decodeStrictly(t, name, frame, &r)
		if diff := cmp.Diff(string(frame), string(r.Encode())); diff != "" {
			t.Errorf("%s (-golden +encoded):\n%s", name, diff)
		}
		unseen = slices.DeleteFunc(unseen, func(op Op) bool { return op == r.Op })
	}
	if len(unseen) > 0 {
		t.Errorf("no golden frame for %v", unseen)
	}
	for name, r := range map[string]Request{
		"hello/with token, fresh": {ID: 1, Op: Hello, Token: "header.payload.signature", Lang: "zh"},
		"time/round trip":         {ID: 3, Op: Time, T0: "151234"},
		"buy/with address and pass": {
			ID: 6, Op: Buy, Sale: sale, Qty: 2, Key: key, Pass: "p-1",
			Address: &shop.Address{Name: "李雷", Phone: "13800000000", Text: "北京市海淀区中关村大街 1 号"},
		},
		"orders/of a sale, older": {ID: 8, Op: Orders, Sale: sale, Before: orderID, Limit: 20},
	} {
		if diff := cmp.Diff(string(golden[name]), string(r.Encode())); diff != "" {
			t.Errorf("%s (-golden +encoded):\n%s", name, diff)
		}
	}
}

var replyTypes = map[string]func() any{
	"hello": func() any { return new(Welcome) }, "renew": func() any { return new(Renewed) },
	"time": func() any { return new(RoundTrip) }, "watch": func() any { return new(catalog.WatchView) },
	"buy": func() any { return new(order.Receipt) }, "pay": func() any { return new(payment.Payable) },
	"cancel": func() any { return new(State) }, "refund": func() any { return new(State) },
	"pass": func() any { return new(admission.PassResult) }, "solve": func() any { return new(admission.PassResult) },
	"orders": func() any { return new(Page) }, "unwatch": func() any { return new(struct{}) },
	"address": func() any { return new(State) },
	"seen":    func() any { return new(struct{}) }, "board": func() any { return new(BoardReply) },
}

// Golden server frames decode without loss: the encoding of the decoded frame equals the golden frame.
func TestServerFramesDecodeWithoutLoss(t *testing.T) {
	t.Parallel()
	for name, frame := range kit.GoldenFrames(t, protocol, "server") {
		f, err := Parse(frame)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var decoded any = f.Event
		switch op, _, _ := strings.Cut(name, "/"); {
		case f.Error != nil:
			decoded = map[string]any{"id": f.ID, "error": f.Error}
		case f.Ev == "":
			ok := replyTypes[op]()
			decodeStrictly(t, name, f.OK, ok)
			decoded = map[string]any{"id": f.ID, "ok": ok}
		}
		again, err := json.Marshal(decoded)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var golden, got any
		decodeStrictly(t, name, frame, &golden)
		decodeStrictly(t, name, again, &got)
		if diff := cmp.Diff(golden, got); diff != "" {
			t.Errorf("%s (-golden +decoded):\n%s", name, diff)
		}
	}
}

// The members of golden events are in the right fields.
func TestGoldenEventsAreDecoded(t *testing.T) {
	t.Parallel()
	golden := kit.GoldenFrames(t, protocol, "server")
	const slot, now = shop.ID(7301444403200000001), shop.Millis(1795222800000)
	for name, want := range map[string]any{
		"tick/one sale changed": &TickEvent{Ev: "tick", Now: now, Sales: []TickLine{
			{ID: sale, Stock: 37, Held: 13, Sold: 70, Done: 78, Rate: 12.4, Watching: 1532},
		}},
		"slot/opened": &SlotEvent{
			Ev: "slot", Slot: slot, Phase: shop.Open, OpensAt: now - 60_000, ClosesAt: now + 240_000, Sales: 6,
		},
		"order/refused": &OrderEvent{Ev: "order", Key: key, Order: shop.Order{
			ID: orderID, Sale: sale, ProductName: "Kettle", Qty: 2, PriceFen: 9900, AmountFen: 19800, State: shop.Refused,
			Reason: shop.ReasonGuard, Ticket: 79, Rev: 1, CreatedAt: now - 1500,
		}},
		"notice/information":      &NoticeEvent{Ev: "notice", Level: "info", Text: "More kettles at noon."},
		"bye/the node is drained": &ByeEvent{Ev: "bye", Code: 4000, RetryMS: 1730},
	} {
		f, err := Parse(golden[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e, ok := f.Event.(*OrderEvent); ok {
			e.Cursor = "" // an opaque text
		}
		if diff := cmp.Diff(want, f.Event); diff != "" {
			t.Errorf("%s (-want +decoded):\n%s", name, diff)
		}
	}
}

// Frames outside this protocol are rejected. Unknown events are accepted with their name and without content.
func TestParseRejectsInvalidFrames(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{}`, `{"id":1}`, `{"ok":{}}`, `{"id":1,"ok":{},"error":{}}`, `{"ev":"tick","sales":6}`,
		`{"ev":"slot","slot":"x"}`, `{"id":"1","ok":{}}`, `{"ev":"bye"`,
	} {
		if f, err := Parse([]byte(text)); !errors.Is(err, ErrFrame) {
			t.Errorf("Parse(%s) = %+v, %v; want ErrFrame", text, f, err)
		}
	}
	f, err := Parse([]byte(`{"ev":"turn","sale":"5","pass":"p"}`))
	if err != nil || f.Ev != "turn" || f.Event != nil {
		t.Errorf("got %+v, %v; want the event turn without content", f, err)
	}
}
