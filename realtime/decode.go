package realtime

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"stampede/app"
)

// request is a client's frame with its fields still raw: which of them must be there, and of what kind, is for
// the op to say, so that a wrong field is named under the frame's own id.
type request struct {
	id         int64
	op         string
	unreadable bool     // not even the id could be read; it is answered as 0
	members    []member // reused from frame to frame
}

// member is a field as it was written. Its parts are those of the frame: whoever keeps one longer than that copies it.
type member struct{ name, value []byte }

// mostMembers is how many a request keeps room for; a frame of strange ones may have hundreds.
const mostMembers = 32

// set notes a field.
func (r *request) set(name, value []byte) { r.members = append(r.members, member{name, value}) }

// raw is a field as it was written, nil when it is not there; of several with the same name the last one counts.
func (r *request) raw(name string) json.RawMessage {
	for i := len(r.members) - 1; i >= 0; i-- {
		if string(r.members[i].name) == name {
			return r.members[i].value
		}
	}
	return nil
}

// decode reads a frame. Unknown fields are ignored.
func (r *request) decode(frame []byte) *app.Error {
	if cap(r.members) > mostMembers {
		r.members = nil
	}
	*r = request{unreadable: true, members: r.members[:0]}
	if !utf8.Valid(frame) {
		return app.Fail(app.BadRequest, "the frame is not UTF-8")
	}
	if !fields(frame, r.set) {
		return app.Fail(app.BadRequest, "the frame is not a JSON object")
	}
	id, ok := integer(r.raw("id"))
	if !ok || id < 0 || id == math.MaxInt64 {
		return app.Fail(app.BadRequest, "id must be a whole number of at least 0")
	}
	r.id, r.unreadable = id, false
	op, err := r.text("op")
	if err == nil && op == "" {
		err = app.Fail(app.BadRequest, "op is missing")
	}
	r.op = op
	return err
}

// absent counts null as absent: some encoders write it for "not set".
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// integer reads a JSON integer without fraction or exponent. One that does not fit is clamped to the nearest
// int64, so that a huge quantity stays huge.
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
	n, _ = strconv.ParseInt(string(raw), 10, 64) // out of range: clamped by ParseInt
	return n, true
}

// unquoted answers what stands between the quotes of a text without escapes, not copied; false for any other value.
func unquoted(raw json.RawMessage) ([]byte, bool) {
	if raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// text reads an optional string; absent is "".
func (r *request) text(name string) (string, *app.Error) {
	raw := r.raw(name)
	if absent(raw) {
		return "", nil
	}
	if plain, ok := unquoted(raw); ok {
		return string(plain), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", app.Fail(app.BadRequest, name+" must be a text")
	}
	return s, nil
}

// flag reads a yes or no that must be there.
func (r *request) flag(name string) (bool, *app.Error) {
	switch string(r.raw(name)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, app.Fail(app.BadRequest, name+" must be true or false")
}

// optionalID reads an optional id; absent is 0.
func (r *request) optionalID(name string) (app.ID, *app.Error) {
	raw := r.raw(name)
	if absent(raw) {
		return 0, nil
	}
	digits, ok := unquoted(raw)
	if !ok {
		text, _ := r.text(name) // "" is no id either
		digits = []byte(text)
	}
	id, err := app.ParseID(digits)
	if err != nil {
		return 0, app.Fail(app.BadRequest, name+" must be an id: a decimal number in a string")
	}
	return id, nil
}

// requiredID reads an id that must be there.
func (r *request) requiredID(name string) (app.ID, *app.Error) {
	if absent(r.raw(name)) {
		return 0, app.Fail(app.BadRequest, name+" is missing")
	}
	return r.optionalID(name)
}

// idList reads an optional list of at most maxWatchedSales ids.
func (r *request) idList(name string) ([]app.ID, *app.Error) {
	raw := r.raw(name)
	if absent(raw) {
		return nil, nil
	}
	var ids []app.ID
	switch err := json.Unmarshal(raw, &ids); {
	case err == nil && len(ids) > maxWatchedSales:
		return nil, app.Fail(app.BadRequest, name+" may list at most "+strconv.Itoa(maxWatchedSales))
	case err != nil || slices.Contains(ids, 0): // 0: null in the list
		return nil, app.Fail(app.BadRequest, name+" must be a list of ids in strings")
	}
	return ids, nil
}

// watched reads what a watch or an unwatch names.
func (r *request) watched() (slot app.ID, sales []app.ID, err *app.Error) {
	if slot, err = r.optionalID("slot"); err != nil {
		return 0, nil, err
	}
	sales, err = r.idList("sales")
	return slot, sales, err
}

// buyRequest reads the fields of a buy. Whether the quantity is within the limit is the shop's to decide; here it
// only has to be a whole number of at least 1, however large.
func (r *request) buyRequest() (buy app.BuyRequest, err *app.Error) {
	if buy.Sale, err = r.requiredID("sale"); err != nil {
		return buy, err
	}
	qty, ok := integer(r.raw("qty"))
	if !ok || qty < 1 {
		return buy, app.Fail(app.BadRequest, "qty must be a whole number of at least 1")
	}
	buy.Qty = int(min(qty, math.MaxInt32))
	if absent(r.raw("key")) {
		return buy, app.Fail(app.BadRequest, "key is missing")
	}
	if buy.Key, err = r.text("key"); err != nil {
		return buy, err
	}
	if buy.Pass, err = r.text("pass"); err != nil {
		return buy, err
	}
	if raw := r.raw("address"); !absent(raw) && json.Unmarshal(raw, &buy.Address) != nil {
		return buy, app.Fail(app.BadRequest, "address must be an object with the texts name, phone and text")
	}
	return buy, nil
}

// ordersQuery reads the fields of orders; the user is the caller's to set.
func (r *request) ordersQuery() (app.OrdersQuery, *app.Error) {
	var q app.OrdersQuery
	var err *app.Error
	if q.Sale, err = r.optionalID("sale"); err != nil {
		return q, err
	}
	if q.Before, err = r.optionalID("before"); err != nil {
		return q, err
	}
	q.Limit = defaultOrders
	if raw := r.raw("limit"); !absent(raw) {
		limit, ok := integer(raw)
		if !ok || limit < 1 {
			return q, app.Fail(app.BadRequest, "limit must be a whole number from 1 to 100")
		}
		q.Limit = int(min(limit, maxOrders))
	}
	return q, nil
}

// roundTrip reads t0, which is sent back as it came.
func (r *request) roundTrip() (json.Number, *app.Error) {
	t0 := r.raw("t0")
	if len(t0) == 0 || len(t0) > 32 || (t0[0] != '-' && (t0[0] < '0' || t0[0] > '9')) {
		return "", app.Fail(app.BadRequest, "t0 must be a number")
	}
	return json.Number(t0), nil
}
