package realtime

import (
	"strconv"

	"stampede/app"
)

// OrderFrame is an order event without its cursor, in one line. It is written by hand, because it is encoded for every
// state of every order; what JSON would not say as it is goes the long way.
func OrderFrame(o *app.Order) []byte {
	if o.Address != nil && !plain(o.Address.Name+o.Address.Phone+o.Address.Text) ||
		!plain(o.Key) || !plain(o.ProductName) || !plain(string(o.State)) || !plain(o.Reason) || !plain(o.TradeNo) ||
		!plain(o.Tracking) {
		return encode(struct {
			Ev    string     `json:"ev"`
			Key   string     `json:"key"`
			Order *app.Order `json:"order"`
		}{"order", o.Key, o})
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
	return append(b, "}}"...)
}

func appendNumber(b []byte, name string, n int64) []byte {
	b = appendAll(b, `,"`, name, `":`)
	return strconv.AppendInt(b, n, 10)
}

// appendInstant and appendText leave out what is not set.
func appendInstant(b []byte, name string, at app.Millis) []byte {
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
