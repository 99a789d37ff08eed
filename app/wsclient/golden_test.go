package wsclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app"
	"stampede/app/apptest"
)

const (
	protocol = "../../realtime/testdata/protocol"

	slot   = app.ID(7301444403200000001)
	sale   = app.ID(7301444403200000101)
	order  = app.ID(7301444480512000257)
	token  = "header.payload.signature"
	cursor = "1795222790123-42"
	key    = "k-3f9c1d2e"
	now    = app.Millis(1795222800000)
)

// requests are what the golden frames of a client say.
var requests = map[string]Request{
	"hello/without token":         {ID: 1, Op: Hello},
	"hello/with token, fresh":     {ID: 1, Op: Hello, Token: token, Lang: "zh"},
	"hello/with token and cursor": {ID: 1, Op: Hello, Token: token, Cursor: cursor, Lang: "en"},

	"renew/next token":                {ID: 2, Op: Renew, Token: token},
	"time/round trip":                 {ID: 3, Op: Time, T0: "151234"},
	"time/round trip with a fraction": {ID: 3, Op: Time, T0: "151234.5"},

	"watch/current slot":   {ID: 4, Op: Watch},
	"watch/one slot":       {ID: 4, Op: Watch, Slot: slot},
	"watch/sales":          {ID: 4, Op: Watch, Sales: []app.ID{sale, sale + 1}},
	"watch/slot and sales": {ID: 4, Op: Watch, Slot: slot, Sales: []app.ID{sale + 1}},
	"unwatch/one slot":     {ID: 5, Op: Unwatch, Slot: slot},
	"unwatch/sales":        {ID: 5, Op: Unwatch, Sales: []app.ID{sale}},
	"unwatch/everything":   {ID: 5, Op: Unwatch},

	"buy/one unit": {ID: 6, Op: Buy, Sale: sale, Qty: 1, Key: key},
	"buy/with address and pass": {
		ID: 6, Op: Buy, Sale: sale, Qty: 2, Key: key, Pass: "p-1",
		Address: &app.Address{Name: "李雷", Phone: "13800000000", Text: "北京市海淀区中关村大街 1 号"},
	},
	"cancel/an order":                {ID: 7, Op: Cancel, Order: order},
	"pay/with a desktop browser":     {ID: 13, Op: Pay, Order: order, Via: "page"},
	"pay/with a phone's browser":     {ID: 13, Op: Pay, Order: order, Via: "wap"},
	"refund/of a paid order":         {ID: 14, Op: Refund, Order: order, Reason: "尺码不合适"},
	"orders/newest":                  {ID: 8, Op: Orders},
	"orders/of a sale, further back": {ID: 8, Op: Orders, Sale: sale, Before: order, Limit: 20},
	"seen/up to a cursor":            {ID: 9, Op: Seen, Cursor: cursor},
}

// Every request is written byte for byte as its golden frame, and there is no golden frame that nobody writes.
func TestRequestsAreGolden(t *testing.T) {
	t.Parallel()
	golden := apptest.GoldenFrames(t, protocol, "client")
	for name, frame := range golden {
		if diff := cmp.Diff(string(frame), string(requests[name].Encode())); diff != "" {
			t.Errorf("%s (-golden +written):\n%s", name, diff)
		}
	}
	for name := range requests {
		if golden[name] == nil {
			t.Errorf("%s has no golden frame", name)
		}
	}
}

// answers makes what an op gives, to be read into.
var answers = map[string]func() any{
	"hello": func() any { return new(Welcome) }, "renew": func() any { return new(Renewed) },
	"time": func() any { return new(RoundTrip) }, "watch": func() any { return new(app.WatchView) },
	"buy": func() any { return new(app.Receipt) }, "pay": func() any { return new(app.Payable) },
	"cancel": func() any { return new(State) }, "refund": func() any { return new(State) },
	"orders": func() any { return new(Page) }, "unwatch": func() any { return new(struct{}) },
	"seen": func() any { return new(struct{}) },
}

// Every golden frame of the server is read without a loss: what was read, written again, is the frame itself. No field of
// it is unknown, none is left out.
func TestServerFramesAreReadExactly(t *testing.T) {
	t.Parallel()
	for name, frame := range apptest.GoldenFrames(t, protocol, "server") {
		f, err := Parse(frame)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		file, _, _ := strings.Cut(name, "/")
		if diff := cmp.Diff(string(frame), string(rewritten(t, f, answers[file]))); diff != "" {
			t.Errorf("%s (-golden +read):\n%s", name, diff)
		}
	}
}

// rewritten is a frame as it would be written from what was read of it.
func rewritten(t *testing.T, f *Frame, answer func() any) []byte {
	t.Helper()
	var v any = f.Event
	switch {
	case f.Error != nil:
		v = struct {
			ID    int64      `json:"id"`
			Error *app.Error `json:"error"`
		}{f.ID, f.Error}
	case f.Ev == "":
		ok := answer()
		decoder := json.NewDecoder(bytes.NewReader(f.OK))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(ok); err != nil {
			t.Errorf("%s: %v", f.OK, err)
		}
		v = struct {
			ID int64 `json:"id"`
			OK any   `json:"ok"`
		}{f.ID, ok}
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return text
}

// What the golden events say is in the fields where it belongs.
func TestEventsAreUnderstood(t *testing.T) {
	t.Parallel()
	golden := apptest.GoldenFrames(t, protocol, "server")
	for name, want := range map[string]Event{
		"tick/one sale changed": &TickEvent{Ev: "tick", Now: now, Sales: []TickLine{
			{ID: sale, Stock: 37, Held: 13, Sold: 70, Done: 78, Rate: 12.4, Watching: 1532},
		}},
		"slot/opened": &SlotEvent{
			Ev: "slot", Slot: slot, Phase: app.Open, OpensAt: now - 60_000, ClosesAt: now + 240_000, Sales: 6,
		},
		"order/refused": &OrderEvent{Ev: "order", Cursor: cursor, Key: key, Order: app.Order{
			ID: order, Sale: sale, ProductName: "Kettle", Qty: 2, PriceFen: 9900, AmountFen: 19800, State: app.Refused,
			Reason: app.ReasonGuard, Ticket: 79, Rev: 1, CreatedAt: now - 1500,
		}},
		"notice/information":      &NoticeEvent{Ev: "notice", Level: "info", Text: "More kettles at noon."},
		"bye/the node is drained": &ByeEvent{Ev: "bye", Code: 4000, RetryMS: 1730},
	} {
		f, err := Parse(golden[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, f.Event, cmp.AllowUnexported(app.Order{})); diff != "" {
			t.Errorf("%s (-want +read):\n%s", name, diff)
		}
	}
}

// What is not of this protocol is no frame; events to come are named and ignored.
func TestFramesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{}`, `{"id":1}`, `{"ok":{}}`, `{"id":1,"ok":{},"error":{}}`, `{"ev":"tick","sales":6}`,
		`{"ev":"slot","slot":"x"}`, `{"id":"1","ok":{}}`, `{"ev":"bye"`,
	} {
		if f, err := Parse([]byte(text)); !errors.Is(err, ErrFrame) {
			t.Errorf("%s was read as %+v, %v", text, f, err)
		}
	}
	f, err := Parse([]byte(`{"ev":"turn","sale":"5","pass":"p"}`))
	if err != nil || f.Ev != "turn" || f.Event != nil {
		t.Errorf("read %+v, %v", f, err)
	}
}
