package wsclient

import "stampede/app"

// Event is what the server says without being asked: *TickEvent, *SlotEvent, *SaleEvent, *OrderEvent, *NoticeEvent or
// *ByeEvent; nil stands for those to come, which are to be ignored.
type Event any

// TickEvent has the newest numbers of sales that are watched. They replace those before.
type TickEvent struct {
	Ev    string     `json:"ev"`
	Now   app.Millis `json:"now"`
	Sales []TickLine `json:"sales"`
}

// TickLine is one sale of a tick.
type TickLine struct {
	ID       app.ID  `json:"id"`
	Stock    int64   `json:"stock"`
	Held     int64   `json:"held"`
	Sold     int64   `json:"sold"`
	Done     int64   `json:"done"`
	Rate     float64 `json:"rate"` // orders a second
	Watching int64   `json:"watching"`
}

// SlotEvent tells of a slot that has come or gone into another phase.
type SlotEvent struct {
	Ev       string     `json:"ev"`
	Slot     app.ID     `json:"slot"`
	Phase    app.Phase  `json:"phase"`
	OpensAt  app.Millis `json:"opens_at"`
	ClosesAt app.Millis `json:"closes_at"`
	Sales    int        `json:"sales"` // how many
}

// SaleEvent tells of a sale that an operator or its window has changed.
type SaleEvent struct {
	Ev   string       `json:"ev"`
	Sale app.SaleView `json:"sale"`
}

// OrderEvent is personal: the state that an order of the user has reached. A Rev that is not above what is known already
// is a repeat.
type OrderEvent struct {
	Ev     string    `json:"ev"`
	Cursor string    `json:"cursor"`
	Key    string    `json:"key"` // of the buy
	Order  app.Order `json:"order"`
}

// NoticeEvent is a sentence of the operators for everybody.
type NoticeEvent struct {
	Ev    string `json:"ev"`
	Level string `json:"level"` // info, warn
	Text  string `json:"text"`
}

// ByeEvent comes right before the server closes the socket.
type ByeEvent struct {
	Ev      string `json:"ev"`
	Code    int    `json:"code"`     // of the close frame; 4000–4499: come again
	RetryMS int64  `json:"retry_ms"` // the pause until then
}

// blank is an event of the name, to be filled in; nil when this package does not know it.
func blank(ev string) Event {
	switch ev {
	case "tick":
		return new(TickEvent)
	case "slot":
		return new(SlotEvent)
	case "sale":
		return new(SaleEvent)
	case "order":
		return new(OrderEvent)
	case "notice":
		return new(NoticeEvent)
	case "bye":
		return new(ByeEvent)
	default:
		return nil
	}
}
