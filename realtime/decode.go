package realtime

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"stampede/app"
)

// request is a client's frame with its fields still raw: which of them must be there, and of what kind, is for
// the op to say, so that a wrong field is named under the frame's own id.
type request struct {
	id         int64
	op         string
	unreadable bool // not even the id could be read; it is answered as 0
	wire
}

// wire has the fields as they were written. They are parts of the frame: whoever keeps one longer than the frame
// copies it.
type wire struct {
	ID, Op, Token, Cursor, T0, Slot, Sale, Sales, Order,
	Before, Limit, Qty, Key, Address, Pass, Via, Reason json.RawMessage
}

// set notes a field; of several with the same name the last one counts, and unknown ones do not.
func (w *wire) set(name, value []byte) {
	switch string(name) {
	case "id":
		w.ID = value
	case "op":
		w.Op = value
	case "token":
		w.Token = value
	case "cursor":
		w.Cursor = value
	case "t0":
		w.T0 = value
	case "slot":
		w.Slot = value
	case "sale":
		w.Sale = value
	case "sales":
		w.Sales = value
	case "order":
		w.Order = value
	case "before":
		w.Before = value
	case "limit":
		w.Limit = value
	case "qty":
		w.Qty = value
	case "key":
		w.Key = value
	case "address":
		w.Address = value
	case "pass":
		w.Pass = value
	case "via":
		w.Via = value
	case "reason":
		w.Reason = value
	}
}

// decode reads a frame. Unknown fields are ignored.
func (r *request) decode(frame []byte) *app.Error {
	*r = request{unreadable: true}
	if !utf8.Valid(frame) {
		return app.Fail(app.BadRequest, "the frame is not UTF-8")
	}
	if !fields(frame, r.set) {
		return app.Fail(app.BadRequest, "the frame is not a JSON object")
	}
	id, ok := integer(r.ID)
	if !ok || id < 0 || id == math.MaxInt64 {
		return app.Fail(app.BadRequest, "id must be a whole number of at least 0")
	}
	r.id, r.unreadable = id, false
	op, err := text("op", r.Op)
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
func text(name string, raw json.RawMessage) (string, *app.Error) {
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

// optionalID reads an optional id; absent is 0.
func optionalID(name string, raw json.RawMessage) (app.ID, *app.Error) {
	if absent(raw) {
		return 0, nil
	}
	digits, ok := unquoted(raw)
	if !ok {
		text, _ := text(name, raw) // "" is no id either
		digits = []byte(text)
	}
	id, err := app.ParseID(digits)
	if err != nil {
		return 0, app.Fail(app.BadRequest, name+" must be an id: a decimal number in a string")
	}
	return id, nil
}

// requiredID reads an id that must be there.
func requiredID(name string, raw json.RawMessage) (app.ID, *app.Error) {
	if absent(raw) {
		return 0, app.Fail(app.BadRequest, name+" is missing")
	}
	return optionalID(name, raw)
}

// idList reads an optional list of at most maxWatchedSales ids.
func idList(name string, raw json.RawMessage) ([]app.ID, *app.Error) {
	if absent(raw) {
		return nil, nil
	}
	var ids []app.ID
	if err := json.Unmarshal(raw, &ids); err != nil {
		return nil, app.Fail(app.BadRequest, name+" must be a list of ids in strings")
	}
	if len(ids) > maxWatchedSales {
		return nil, app.Fail(app.BadRequest, name+" may list at most "+strconv.Itoa(maxWatchedSales))
	}
	for _, id := range ids {
		if id == 0 { // null in the list
			return nil, app.Fail(app.BadRequest, name+" must be a list of ids in strings")
		}
	}
	return ids, nil
}

// buyRequest reads the fields of a buy. Whether the quantity is within the limit is the shop's to decide; here it
// only has to be a whole number of at least 1, however large.
func (r *request) buyRequest() (buy app.BuyRequest, err *app.Error) {
	if buy.Sale, err = requiredID("sale", r.Sale); err != nil {
		return buy, err
	}
	qty, ok := integer(r.Qty)
	if !ok || qty < 1 {
		return buy, app.Fail(app.BadRequest, "qty must be a whole number of at least 1")
	}
	buy.Qty = int(min(qty, math.MaxInt32))
	if absent(r.Key) {
		return buy, app.Fail(app.BadRequest, "key is missing")
	}
	if buy.Key, err = text("key", r.Key); err != nil {
		return buy, err
	}
	if buy.Pass, err = text("pass", r.Pass); err != nil {
		return buy, err
	}
	buy.Address, err = address(r.Address)
	return buy, err
}

// address reads an optional address; absent is nil.
func address(raw json.RawMessage) (*app.Address, *app.Error) {
	if absent(raw) {
		return nil, nil
	}
	var a *app.Address
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, app.Fail(app.BadRequest, "address must be an object with the texts name, phone and text")
	}
	return a, nil
}

// ordersQuery reads the fields of orders; the user is the caller's to set.
func (r *request) ordersQuery() (app.OrdersQuery, *app.Error) {
	var q app.OrdersQuery
	var err *app.Error
	if q.Sale, err = optionalID("sale", r.Sale); err != nil {
		return q, err
	}
	if q.Before, err = optionalID("before", r.Before); err != nil {
		return q, err
	}
	q.Limit = defaultOrders
	if !absent(r.Limit) {
		limit, ok := integer(r.Limit)
		if !ok || limit < 1 {
			return q, app.Fail(app.BadRequest, "limit must be a whole number from 1 to 100")
		}
		q.Limit = int(min(limit, maxOrders))
	}
	return q, nil
}

// roundTrip reads t0, which is sent back as it came.
func (r *request) roundTrip() (json.Number, *app.Error) {
	if len(r.T0) == 0 || len(r.T0) > 32 || (r.T0[0] != '-' && (r.T0[0] < '0' || r.T0[0] > '9')) {
		return "", app.Fail(app.BadRequest, "t0 must be a number")
	}
	return json.Number(r.T0), nil
}
