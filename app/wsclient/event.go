package wsclient

import (
	"stampede/app/board"
	"stampede/app/shop"
)

// events maps the name of an event to a constructor of its type.
var events = map[string]func() any{
	"tick":   func() any { return new(TickEvent) },
	"slot":   func() any { return new(SlotEvent) },
	"sale":   func() any { return new(SaleEvent) },
	"order":  func() any { return new(OrderEvent) },
	"notice": func() any { return new(NoticeEvent) },
	"bye":    func() any { return new(ByeEvent) },
	"board":  func() any { return new(BoardEvent) },
}

// TickEvent contains the current counters of watched sales. They replace the previous counters.
type TickEvent struct {
	Ev    string      `json:"ev"`
	Now   shop.Millis `json:"now"`
	Sales []TickLine  `json:"sales"`
}

// TickLine is one sale of a tick.
type TickLine struct {
	ID       shop.ID `json:"id"`
	Stock    int64   `json:"stock"`
	Held     int64   `json:"held"`
	Sold     int64   `json:"sold"`
	Done     int64   `json:"done"`
	Rate     float64 `json:"rate"` // orders per second
	Watching int64   `json:"watching"`
}

// SlotEvent reports a new slot or a new phase of a slot.
type SlotEvent struct {
	Ev       string      `json:"ev"`
	Slot     shop.ID     `json:"slot"`
	Phase    shop.Phase  `json:"phase"`
	OpensAt  shop.Millis `json:"opens_at"`
	ClosesAt shop.Millis `json:"closes_at"`
	Sales    int         `json:"sales"` // number of sales
}

// SaleEvent reports a change of a sale beyond its counters.
type SaleEvent struct {
	Ev   string        `json:"ev"`
	Sale shop.SaleView `json:"sale"`
}

// OrderEvent is personal: the new state of an order. If Rev is not greater than the last Rev of the order, the event is
// a repeat.
type OrderEvent struct {
	Ev     string     `json:"ev"`
	Cursor string     `json:"cursor"`
	Key    string     `json:"key"` // key of the buy
	Order  shop.Order `json:"order"`
}

// NoticeEvent is a banner for all clients. Without a text it removes the banner.
type NoticeEvent struct {
	Ev    string      `json:"ev"`
	Level string      `json:"level"` // info, warn
	Text  string      `json:"text"`
	Until shop.Millis `json:"until,omitempty"` // 0: until removed
	// Texts contains translations by language.
	Texts map[string]string `json:"texts,omitempty"`
}

// ByeEvent precedes the close of the socket with this code. For 4000–4499 the client reconnects after RetryMS.
type ByeEvent struct {
	Ev      string `json:"ev"`
	Code    int    `json:"code"`
	RetryMS int64  `json:"retry_ms"`
}

// BoardEvent is the live board of the whole shop, for operators.
type BoardEvent struct {
	Ev string `json:"ev"`
	board.Board
}

// BoardReply is the reply to board: the history of the board.
type BoardReply struct {
	Now     shop.Millis   `json:"now,omitempty"`
	History []board.Point `json:"history,omitzero"`
}
