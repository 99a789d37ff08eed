package realtime

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"stampede/app/order"
	"stampede/app/shop"
)

// Subprotocol is the WebSocket subprotocol that clients may request. version is in the reply to hello.
const (
	Subprotocol = "stampede.v1"
	version     = 1
)

// Limits of protocol version 1 (PROTOCOL.md).
const (
	maxFrame        = 4 << 10 // bytes of one client frame
	maxWatchedSales = 20      // single sales that a client may watch
	maxWatchedSlots = 4       // slots that a client may watch at once
	maxSetsPerUser  = 4       // watch sets of a user on one node; a set of exactly one whole slot does not count
	maxSetsPerAddr  = 64      // watch sets of an address on one node; a set of exactly one whole slot does not count
	defaultOrders   = 20
	maxOrders       = 100
)

// reply is the frame for a successful op.
type reply struct {
	ID int64 `json:"id"`
	OK any   `json:"ok"`
}

// rejection is the frame for a failed op.
type rejection struct {
	ID    int64       `json:"id"`
	Error *shop.Error `json:"error"`
}

type empty struct{}

type helloReply struct {
	Now          shop.Millis        `json:"now"`
	Version      int                `json:"version"`
	Session      string             `json:"session"`
	User         *helloUser         `json:"user,omitempty"`
	Cursor       string             `json:"cursor"` // "" without a token
	Missed       []json.RawMessage  `json:"missed"` // newest states, as events
	Reset        bool               `json:"reset,omitempty"`
	Reservations []shop.Reservation `json:"reservations"`
}

type helloUser struct {
	ID   shop.ID   `json:"id"`
	Name string    `json:"name"`
	Role shop.Role `json:"role"`
}

type renewReply struct {
	Expires shop.Millis `json:"expires"`
}

type roundTrip struct {
	T0  json.Number `json:"t0"`
	Now shop.Millis `json:"now"`
}

type stateReply struct {
	State shop.OrderState `json:"state"`
}

type orderPage struct {
	Orders []shop.Order `json:"orders"`
	More   bool         `json:"more"`
}

type slotEvent struct {
	Ev       string      `json:"ev"`
	Slot     shop.ID     `json:"slot"`
	Phase    shop.Phase  `json:"phase"`
	OpensAt  shop.Millis `json:"opens_at"`
	ClosesAt shop.Millis `json:"closes_at"`
	Sales    int         `json:"sales"`
}

type saleEvent struct {
	Ev   string        `json:"ev"`
	Sale shop.SaleView `json:"sale"`
}

type noticeEvent struct {
	Ev    string      `json:"ev"`
	Level string      `json:"level"`
	Text  string      `json:"text"`            // "": the banner is withdrawn
	Until shop.Millis `json:"until,omitempty"` // when the banner expires
	// Texts has translations by language. Text is for clients that support none of these languages; if it is empty,
	// they show no banner.
	Texts map[string]string `json:"texts,omitempty"`
}

type byeEvent struct {
	Ev      string    `json:"ev"`
	Code    CloseCode `json:"code"`
	RetryMS int64     `json:"retry_ms"`
}

// encode marshals a value of this package. It panics on errors, because these values always have a JSON form.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("realtime: encode " + err.Error())
	}
	return b
}

// replyFrame encodes a successful reply. The reply to a buy does not use encoding/json: during a busy sale, most frames
// of a node are replies to buys.
func replyFrame(id int64, ok any) []byte {
	r, bought := ok.(order.Receipt)
	if !bought || !plain(string(r.State)) {
		return encode(reply{id, ok})
	}
	b := make([]byte, 0, 128)
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"ok":{"order":"`...)
	b = strconv.AppendInt(b, int64(r.Order), 10)
	b = appendNumber(append(b, '"'), "ticket", r.Ticket)
	b = appendNumber(b, "place", r.Place)
	b = appendAll(b, `,"state":"`, string(r.State), `"`)
	return append(b, "}}"...)
}

// rejectionFrame encodes an error reply.
func rejectionFrame(id int64, e *shop.Error) []byte {
	if len(e.Orders) > 0 || !plain(string(e.Code)) || !plain(e.Message) {
		return encode(rejection{id, e})
	}
	b := make([]byte, 0, 96+len(e.Message))
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = appendAll(b, `,"error":{"code":"`, string(e.Code), `","message":"`, e.Message, `","retry_ms":`)
	b = strconv.AppendInt(b, e.RetryMS, 10)
	return append(b, "}}"...)
}

func appendAll(b []byte, parts ...string) []byte {
	for _, part := range parts {
		b = append(b, part...)
	}
	return b
}

// plain reports whether the text needs no escapes in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return plainRunes(s[i:])
		}
		if escaped[s[i]] {
			return false
		}
	}
	return true
}

// escaped has the ASCII characters that encoding/json escapes.
var escaped = func() (escaped [utf8.RuneSelf]bool) {
	for c := range escaped {
		escaped[c] = c < ' ' || strings.IndexByte("\"\\<>&", byte(c)) >= 0
	}
	return escaped
}()

func plainRunes(s string) bool {
	for _, r := range s {
		if r < utf8.RuneSelf && escaped[r] || r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
			return false
		}
	}
	return true
}

// appendTickLine appends one sale of a tick. The rate has at most one decimal.
func appendTickLine(b []byte, c *shop.Counters) []byte {
	b = append(b, `{"id":"`...)
	b = strconv.AppendInt(b, int64(c.Sale), 10)
	b = appendNumber(append(b, '"'), "stock", c.Stock)
	b = appendNumber(b, "held", c.Held)
	b = appendNumber(b, "sold", c.Sold)
	b = appendNumber(b, "done", c.Done)
	b = append(b, `,"rate":`...)
	b = strconv.AppendFloat(b, roundToTenth(c.Rate), 'f', -1, 64)
	b = appendNumber(b, "watching", c.Watching)
	return append(b, '}')
}

// tickFrame returns a tick with the lines.
func tickFrame(now shop.Millis, lines [][]byte) []byte {
	size := 48
	for _, line := range lines {
		size += len(line) + 1
	}
	b := make([]byte, 0, size)
	b = append(b, `{"ev":"tick","now":`...)
	b = strconv.AppendInt(b, int64(now), 10)
	b = append(b, `,"sales":[`...)
	for i, line := range lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, line...)
	}
	return append(b, "]}"...)
}

// OrderFrame returns an order event without its cursor, in one line. It avoids encoding/json, because each state of
// each order is encoded. Only an order with a text that needs escapes uses encoding/json.
func OrderFrame(o *shop.Order) []byte {
	if o.Address != nil && !plain(o.Address.Name+o.Address.Phone+o.Address.Text) ||
		!plain(o.Key) || !plain(o.ProductName) || !plain(string(o.State)) || !plain(o.Reason) || !plain(o.TradeNo) ||
		!plain(o.Tracking) {
		buyers := *o
		buyers.PayUntil = o.PaymentEnds()
		return encode(struct {
			Ev    string      `json:"ev"`
			Key   string      `json:"key"`
			Order *shop.Order `json:"order"`
		}{"order", o.Key, &buyers})
	}
	b := make([]byte, 0, 448)
	b = appendAll(b, `{"ev":"order","key":"`, o.Key, `","order":{"id":"`)
	b = strconv.AppendInt(b, int64(o.ID), 10)
	b = append(b, `","sale":"`...)
	b = strconv.AppendInt(b, int64(o.Sale), 10)
	b = appendAll(b, `","product_name":"`, o.ProductName, `"`)
	b = appendNumber(b, "qty", int64(o.Qty))
	b = appendNumber(b, "price_fen", o.PriceFen)
	b = appendNumber(b, "amount_fen", o.AmountFen)
	if o.RefundedFen != 0 {
		b = appendNumber(b, "refunded_fen", o.RefundedFen)
	}
	b = appendAll(b, `,"state":"`, string(o.State), `"`)
	b = appendText(b, "reason", o.Reason)
	b = appendNumber(b, "ticket", o.Ticket)
	b = appendNumber(b, "rev", int64(o.Rev))
	b = appendNumber(b, "created_at", int64(o.CreatedAt))
	b = appendInstant(b, "pay_by", o.PayBy)
	b = appendInstant(b, "paid_at", o.PaidAt)
	b = appendInstant(b, "cancelled_at", o.CancelledAt)
	b = appendText(b, "trade_no", o.TradeNo)
	b = appendText(b, "tracking", o.Tracking)
	if a := o.Address; a != nil {
		b = appendAll(b, `,"address":{"name":"`, a.Name, `","phone":"`, a.Phone, `","text":"`, a.Text, `"}`)
	}
	b = appendInstant(b, "pay_until", o.PaymentEnds())
	return append(b, "}}"...)
}

func appendNumber(b []byte, name string, n int64) []byte {
	b = appendAll(b, `,"`, name, `":`)
	return strconv.AppendInt(b, n, 10)
}

// appendInstant and appendText omit zero values.
func appendInstant(b []byte, name string, at shop.Millis) []byte {
	if at == 0 {
		return b
	}
	return appendNumber(b, name, int64(at))
}

func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendAll(b, `,"`, name, `":"`, text, `"`)
}
