package realtime

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"stampede/app/order"
	"stampede/app/shop"
)

// request is a client frame with raw fields. The op decides which fields are required and of which type, so that an
// error about a field carries the id of the frame.
type request struct {
	id        int64
	op        string
	invalidID bool     // the id is missing or not valid; the reply has id 0
	members   []member // buffer, reused by each frame
}

// member is a raw field. It points into the frame and is valid as long as the frame.
type member struct{ name, value []byte }

// maxMembers is the capacity that a pooled request keeps. A frame with unknown fields may have hundreds of members.
const maxMembers = 32

func (r *request) set(name, value []byte) { r.members = append(r.members, member{name, value}) }

// raw returns the unparsed value of a field, or nil. If the name is repeated, raw returns the last value.
func (r *request) raw(name string) json.RawMessage {
	for i := len(r.members) - 1; i >= 0; i-- {
		if string(r.members[i].name) == name {
			return r.members[i].value
		}
	}
	return nil
}

// decode parses a frame. Unknown fields are ignored.
func (r *request) decode(frame []byte) *shop.Error {
	if cap(r.members) > maxMembers {
		r.members = nil
	}
	*r = request{invalidID: true, members: r.members[:0]}
	if !utf8.Valid(frame) {
		return shop.Fail(shop.BadRequest, "the frame is not UTF-8")
	}
	if !fields(frame, r.set) {
		return shop.Fail(shop.BadRequest, "the frame is not a JSON object")
	}
	id, ok := integer(r.raw("id"))
	if !ok || id < 0 || id == math.MaxInt64 {
		return shop.Fail(shop.BadRequest, "id must be a whole number of at least 0")
	}
	r.id, r.invalidID = id, false
	f := fieldReader{request: r}
	if r.op = f.text("op"); r.op == "" {
		f.fail("op is missing")
	}
	return f.err
}

// absent reports whether a field is missing or null. Some encoders write null for unset fields.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// integer parses a JSON integer without fraction or exponent, clamped to int64.
func integer(raw json.RawMessage) (n int64, ok bool) {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) == 0 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, _ = strconv.ParseInt(string(raw), 10, 64) // clamps to int64
	return n, true
}

// unquoted returns the content of a JSON string that contains no escapes. The result is a slice of raw, not a copy. For
// any other value, unquoted returns false.
func unquoted(raw json.RawMessage) ([]byte, bool) {
	if raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// fieldReader reads the fields of a request. err describes the first missing or invalid field.
type fieldReader struct {
	*request
	err *shop.Error
}

func (f *fieldReader) fail(message string) {
	if f.err == nil {
		f.err = shop.Fail(shop.BadRequest, message)
	}
}

// text reads an optional string. It returns "" for an absent field.
func (f *fieldReader) text(name string) (s string) {
	raw := f.raw(name)
	if absent(raw) {
		return ""
	}
	if plain, ok := unquoted(raw); ok {
		return string(plain)
	}
	if json.Unmarshal(raw, &s) != nil {
		f.fail(name + " must be a string")
	}
	return s
}

// id reads an optional id. It returns 0 for an absent field.
func (f *fieldReader) id(name string) shop.ID {
	raw := f.raw(name)
	if absent(raw) {
		return 0
	}
	digits, ok := unquoted(raw)
	if !ok {
		var text string
		_ = json.Unmarshal(raw, &text) // "" is not an id
		digits = []byte(text)
	}
	id, err := shop.ParseID(digits)
	if err != nil {
		f.fail(name + " must be an id: a decimal number in a string")
	}
	return id
}

func (f *fieldReader) requiredID(name string) shop.ID {
	if absent(f.raw(name)) {
		f.fail(name + " is missing")
	}
	return f.id(name)
}

// ids reads an optional list of at most maxWatchedSales ids.
func (f *fieldReader) ids(name string) (ids []shop.ID) {
	raw := f.raw(name)
	if absent(raw) {
		return nil
	}
	switch err := json.Unmarshal(raw, &ids); {
	case err == nil && len(ids) > maxWatchedSales:
		f.fail(name + " may list at most " + strconv.Itoa(maxWatchedSales))
	case err != nil || slices.Contains(ids, 0): // 0: a null in the list
		f.fail(name + " must be a list of ids in strings")
	}
	return ids
}

// address reads an optional address; absent is nil.
func (f *fieldReader) address() (a *shop.Address) {
	if raw := f.raw("address"); !absent(raw) && json.Unmarshal(raw, &a) != nil {
		f.fail("address must be an object with the strings name, phone and text")
	}
	return a
}

// watchFields reads the fields of the ops `watch` and `unwatch`.
func (r *request) watchFields() (slot shop.ID, sales []shop.ID, err *shop.Error) {
	f := fieldReader{request: r}
	slot, sales = f.id("slot"), f.ids("sales")
	return slot, sales, f.err
}

// buyRequest reads the fields of the op `buy`. The quantity is a whole number of at least 1; the shop checks its
// maximum.
func (r *request) buyRequest() (order.BuyRequest, *shop.Error) {
	f := fieldReader{request: r}
	buy := order.BuyRequest{Sale: f.requiredID("sale")}
	qty, ok := integer(r.raw("qty"))
	if !ok || qty < 1 {
		f.fail("qty must be a whole number of at least 1")
	}
	buy.Qty = int(min(qty, math.MaxInt32))
	if absent(r.raw("key")) {
		f.fail("key is missing")
	}
	buy.Key, buy.Pass = f.text("key"), f.text("pass")
	buy.Address = f.address()
	return buy, f.err
}

// ordersQuery reads the fields of the op `orders`. The caller sets the user.
func (r *request) ordersQuery() (shop.OrdersQuery, *shop.Error) {
	f := fieldReader{request: r}
	q := shop.OrdersQuery{Sale: f.id("sale"), Before: f.id("before"), Limit: defaultOrders}
	if raw := r.raw("limit"); !absent(raw) {
		limit, ok := integer(raw)
		if !ok || limit < 1 {
			f.fail("limit must be a whole number from 1 to 100")
		}
		q.Limit = int(min(limit, maxOrders))
	}
	return q, f.err
}

// roundTrip reads the field `t0` of the op `time`. The reply contains the same value.
func (r *request) roundTrip() (json.Number, *shop.Error) {
	t0 := r.raw("t0")
	if len(t0) == 0 || len(t0) > 32 || (t0[0] != '-' && (t0[0] < '0' || t0[0] > '9')) {
		return "", shop.Fail(shop.BadRequest, "t0 must be a number")
	}
	return json.Number(t0), nil
}
