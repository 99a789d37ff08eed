package realtime

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
)

func TestUnreadableIDIsABadRequest(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{
		``, `null`, `5`, `"x"`, `[]`, `{}`, `{"op":"time"}`, `{"id":null,"op":"time"}`, `{"id":"1","op":"time"}`,
		`{"id":1.5,"op":"time"}`, `{"id":1e2,"op":"time"}`, `{"id":-1,"op":"time"}`,
		`{"id":9223372036854775808,"op":"time"}`,
		`{"id":1,"op":"time"} {"id":2}`, `{"id":1,"op":"time"`, "{\"id\":1,\"op\":\"\xff\"}",
	} {
		var r request
		if err := r.decode([]byte(frame)); err == nil || !r.invalidID || r.id != 0 || err.Code != shop.BadRequest {
			t.Errorf("%s: got id %d, error %v", frame, r.id, err)
		}
	}
}

func TestQuantityIsAPositiveWholeNumber(t *testing.T) {
	t.Parallel()
	for qty, want := range map[string]int{
		`1`: 1, `2147483647`: math.MaxInt32, `2147483648`: math.MaxInt32, `99999999999999999999999`: math.MaxInt32,
		`0`: 0, `-1`: 0, `-99999999999999999999999`: 0, `1.0`: 0, `1e1`: 0, `"1"`: 0, `null`: 0, `true`: 0, `[1]`: 0,
	} {
		var r request
		err := r.decode([]byte(`{"id":1,` + buyFields(qty) + `}`))
		if err != nil {
			t.Fatalf("%s: %v", qty, err)
		}
		buy, err := r.buyRequest()
		if want == 0 && (err == nil || err.Code != shop.BadRequest || !strings.Contains(err.Message, "qty")) {
			t.Errorf("qty %s: got %v, error %v", qty, buy, err)
		}
		if want != 0 && (err != nil || buy.Qty != want) {
			t.Errorf("qty %s: got quantity %d (error %v), want %d", qty, buy.Qty, err, want)
		}
	}
}

// For any input, decoding and reading every field does not panic and accepts no invalid value.
func FuzzDecode(f *testing.F) {
	for _, frame := range goldenFrames(f, "client") {
		f.Add(frame)
	}
	for _, frame := range []string{
		`{"id":1,"op":"buy","sale":"1","qty":1e400,"key":5,"address":[]}`,
		`{}`, ` { } `, `{"a":1}`, ` { "a" : 1 , "b" : "x" } `, `{"a":1,"a":2}`, `{"\u0061":1}`, `{"a\"":"\n"}`,
		`{"a":[1,{"b":"]}"}]}`,
		`{"a":-0.5e3,"b":true,"c":null,"":0}`, `{"a":01}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1}}`,
		`{"a":1}x`, `{"a":[1}`,
		`{"a":[}`, `{"a":"x`, `{"a":"\`, `{"a":"\x"}`, "{\"a\":\"\n\"}", `{"a":tru}`, `{"a":1 2}`, `{"a":{"b":}}`, `[`,
		``, `null`, `{"a":--1}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var r request
		err := r.decode(frame)
		if r.invalidID && (err == nil || r.id != 0) {
			t.Fatalf("the frame is unreadable, but has id %d and error %v", r.id, err)
		}
		if r.id < 0 {
			t.Fatalf("got id %d, want at least 0", r.id)
		}
		sameAsEncodingJSON(t, frame)
		if buy, err := r.buyRequest(); err == nil && (buy.Qty < 1 || buy.Sale <= 0) {
			t.Fatalf("an invalid buy was accepted: %+v", buy)
		}
		if q, err := r.ordersQuery(); err == nil && (q.Limit < 1 || q.Limit > maxOrders) {
			t.Fatalf("an invalid page query was accepted: %+v", q)
		}
		if _, ids, err := r.watchFields(); err == nil && len(ids) > maxWatchedSales {
			t.Fatalf("a list of %d sales was accepted", len(ids))
		}
		if t0, err := r.roundTrip(); err == nil {
			encode(roundTrip{T0: t0})
		}
	})
}

// sameAsEncodingJSON checks that fields accepts the same input as encoding/json and returns the same values.
func sameAsEncodingJSON(t *testing.T, frame []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	valid := utf8.Valid(frame) && json.Unmarshal(frame, &want) == nil && want != nil
	got := make(map[string]json.RawMessage)
	ok := utf8.Valid(frame) && fields(frame, func(name, value []byte) { got[string(name)] = value })
	if ok != valid {
		t.Fatalf("whether %q is an object: got %v, want %v as in encoding/json", frame, ok, valid)
	}
	if diff := cmp.Diff(want, got); ok && diff != "" {
		t.Fatalf("%q (-encoding/json +decode):\n%s", frame, diff)
	}
}
