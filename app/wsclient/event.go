package wsclient

import (
	"stampede/app/board"
	"stampede/app/shop"
)

// events makes an event of each name, to be read into.
var events = map[string]func() any{
	"tick":   func() any { return new(TickEvent) },
	"slot":   func() any { return new(SlotEvent) },
	"sale":   func() any { return new(SaleEvent) },
	"order":  func() any { return new(OrderEvent) },
	"notice": func() any { return new(NoticeEvent) },
	"bye":    func() any { return new(ByeEvent) },
	"board":  func() any { return new(BoardEvent) },
}

// TickEvent has the newest numbers of sales that are watched. They replace those before.
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
	Rate     float64 `json:"rate"` // orders a second
	Watching int64   `json:"watching"`
}

// SlotEvent tells of a slot that has come or gone into another phase.
type SlotEvent struct {
	Ev       string      `json:"ev"`
	Slot     shop.ID     `json:"slot"`
	Phase    shop.Phase  `json:"phase"`
	OpensAt  shop.Millis `json:"opens_at"`
	ClosesAt shop.Millis `json:"closes_at"`
	Sales    int         `json:"sales"` // how many
}

// SaleEvent tells of a sale that has changed in more than its numbers.
type SaleEvent struct {
	Ev   string        `json:"ev"`
	Sale shop.SaleView `json:"sale"`
}

// OrderEvent is personal: the state that an order has reached. One whose Rev is not above what is known is a repeat.
type OrderEvent struct {
	Ev     string     `json:"ev"`
	Cursor string     `json:"cursor"`
	Key    string     `json:"key"` // of the buy
	Order  shop.Order `json:"order"`
}

// NoticeEvent is a sentence for everybody. One without a text takes it back.
type NoticeEvent struct {
	Ev    string      `json:"ev"`
	Level string      `json:"level"` // info, warn
	Text  string      `json:"text"`
	Until shop.Millis `json:"until,omitempty"` // 0: until it is taken back
	// Texts are the same in other languages.
	Texts map[string]string `json:"texts,omitempty"`
}

// ByeEvent comes right before the server closes the socket with this code; 4000–4499: come again after the pause.
type ByeEvent struct {
	Ev      string `json:"ev"`
	Code    int    `json:"code"`
	RetryMS int64  `json:"retry_ms"`
}

// BoardEvent is the state of the whole shop, for operators.
type BoardEvent struct {
	Ev string `json:"ev"`
	board.Board
}

// BoardReply answers op board: what the board showed before.
type BoardReply struct {
	Now     shop.Millis   `json:"now,omitempty"`
	History []board.Point `json:"history,omitzero"`
}
