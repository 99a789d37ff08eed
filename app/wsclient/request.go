package wsclient

import (
	"encoding/json"
	"fmt"

	"stampede/app/shop"
)

// Subprotocol is the subprotocol of the handshake at Path.
const (
	Subprotocol = "stampede.v1"
	Path        = "/ws"
)

// Op is the name of an operation of the protocol.
type Op string

// The ops of version 1.
const (
	Hello   Op = "hello"
	Renew   Op = "renew"
	Time    Op = "time"
	Watch   Op = "watch"
	Unwatch Op = "unwatch"
	Buy     Op = "buy"
	Pass    Op = "pass"
	Solve   Op = "solve"
	Cancel  Op = "cancel"
	Pay     Op = "pay"
	Refund  Op = "refund"
	Address Op = "address"
	Orders  Op = "orders"
	Seen    Op = "seen"
	Board   Op = "board"
)

// Ops lists all ops.
var Ops = []Op{Hello, Renew, Time, Watch, Unwatch, Buy, Pass, Solve, Cancel, Pay, Refund, Address, Orders, Seen, Board}

// Request is one op with its fields. Empty fields are not sent.
type Request struct {
	ID int64 `json:"id"` // assigned by the connection when it sends
	Op Op    `json:"op"`

	Token   string        `json:"token,omitempty"`  // hello, renew
	Cursor  string        `json:"cursor,omitempty"` // hello, seen
	Lang    string        `json:"lang,omitempty"`   // hello
	T0      json.Number   `json:"t0,omitempty"`     // time: returned unchanged
	Slot    shop.ID       `json:"slot,omitzero"`    // watch, unwatch
	Sales   []shop.ID     `json:"sales,omitempty"`  // watch, unwatch
	Sale    shop.ID       `json:"sale,omitzero"`    // buy, pass, solve, orders
	Qty     int           `json:"qty,omitempty"`    // buy
	Key     string        `json:"key,omitempty"`    // buy: identifies one buy attempt; a repeat has the same key
	Address *shop.Address `json:"address,omitempty"`
	Pass    string        `json:"pass,omitempty"`
	Task    string        `json:"task,omitempty"`   // solve: id of the task
	Answer  string        `json:"answer,omitempty"` // solve
	Order   shop.ID       `json:"order,omitzero"`   // cancel, pay, refund
	Via     string        `json:"via,omitempty"`    // pay: page, wap, app or qr
	Reason  string        `json:"reason,omitempty"` // refund
	Before  shop.ID       `json:"before,omitzero"`  // orders: only orders older than this order
	Limit   int           `json:"limit,omitempty"`  // orders
	On      *bool         `json:"on,omitempty"`     // board

	// Text replaces all fields after the id, for invalid input in tests: `"op":"dance","step":1`.
	Text string `json:"-"`
}

// Encode returns the JSON frame.
func (r Request) Encode() []byte {
	if r.Text != "" {
		return fmt.Appendf(nil, `{"id":%d,%s}`, r.ID, r.Text)
	}
	frame, _ := json.Marshal(r) // fails only for a T0 that is not a number; the server then replies bad_request
	return frame
}
