package realtime

import (
	"fmt"
	"strconv"
	"strings"

	"stampede/app"
	"stampede/app/snowflake"
)

// A log keeps an event as a text `<order> <rev> <body>` behind its cursor (see append.lua). The body is the event as JSON,
// without its cursor, which is known only once it is there; or, for an order that waits for its payment, short:
//
//	<sale, base 36>:<qty>:<price>:<ticket>:<created_at − the time in the order's id, ms>:<ms until pay_by>:<key>:<product name>
//
// Nearly all events are of such orders, and their JSON takes more than three times as much of Redis, of its append-only file
// and of the way to the nodes.

// shortFields is how many fields a short body has; the last may contain colons.
const shortFields = 8

// keptText is the event as the log keeps it, without its cursor.
func keptText(o *app.Order) []byte {
	b := make([]byte, 0, 160)
	b = strconv.AppendInt(b, int64(o.ID), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(o.Rev), 10)
	b = append(b, ' ')
	if !short(o) {
		return append(b, orderFrame(o)...)
	}
	b = strconv.AppendInt(b, int64(o.Sale), 36)
	b = append(b, ':')
	for _, n := range [...]int64{
		int64(o.Qty), o.PriceFen, o.Ticket, int64(o.CreatedAt - snowflake.Time(o.ID)), int64(o.PayBy - o.CreatedAt),
	} {
		b = strconv.AppendInt(b, n, 10)
		b = append(b, ':')
	}
	b = append(b, o.Key...)
	b = append(b, ':')
	return append(b, o.ProductName...)
}

// short reports whether a short body says all there is to say of the order.
func short(o *app.Order) bool {
	said := app.Order{
		ID: o.ID, Sale: o.Sale, ProductName: o.ProductName, Qty: o.Qty, PriceFen: o.PriceFen, AmountFen: int64(o.Qty) * o.PriceFen,
		State: app.Pending, Ticket: o.Ticket, Rev: o.Rev, CreatedAt: o.CreatedAt, PayBy: o.PayBy,
	}
	said.User, said.Partition, said.Seq, said.Hold, said.SaleVersion = o.User, o.Partition, o.Seq, o.Hold, o.SaleVersion
	said.Key, said.ContentHash, said.ToldRev, said.TradeOpened = o.Key, o.ContentHash, o.ToldRev, o.TradeOpened
	return said == *o && o.PayBy != 0 && plain(o.ProductName) && plain(o.Key) && !strings.Contains(o.Key, ":")
}

// keptEvent is an event that was read from a log or came with a hint.
type keptEvent struct {
	whole string // as JSON without its cursor; "" when it was short, and then the following are set

	order, rev, qty, price, ticket, key, name string
	sale, amount, created, payBy              int64
}

// readKept takes the text of an event apart.
func readKept(text string) (e keptEvent, err error) {
	order, rest, _ := strings.Cut(text, " ")
	rev, body, ok := strings.Cut(rest, " ")
	if !ok {
		return keptEvent{}, fmt.Errorf("event %.60q: want order, rev, body: %w", text, app.ErrPermanent)
	}
	if strings.HasPrefix(body, "{") {
		return keptEvent{whole: body}, nil
	}
	var f [shortFields]string
	for i := range f[:shortFields-1] {
		if f[i], body, ok = strings.Cut(body, ":"); !ok {
			return keptEvent{}, fmt.Errorf("event %.60q: %d fields: %w", text, i+1, app.ErrPermanent)
		}
	}
	number := func(s string, base int) int64 {
		n, wrong := strconv.ParseInt(s, base, 64)
		if wrong != nil && err == nil {
			err = fmt.Errorf("event %.60q: %q is no number: %w", text, s, app.ErrPermanent)
		}
		return n
	}
	e = keptEvent{
		order: order, rev: rev, qty: f[1], price: f[2], ticket: f[3], key: f[6], name: body,
		sale: number(f[0], 36), amount: number(f[1], 10) * number(f[2], 10),
		created: int64(snowflake.Time(app.ID(number(order, 10)))) + number(f[4], 10),
	}
	e.payBy = e.created + number(f[5], 10)
	number(rev, 10) // goes out as it is, and so does the ticket
	number(f[3], 10)
	if err != nil {
		return keptEvent{}, err
	}
	return e, nil
}

// frame is the event for the wire.
func (e *keptEvent) frame(at Cursor) []byte {
	if e.whole != "" {
		return withCursor(e.whole, at)
	}
	b := make([]byte, 0, 320+len(e.name))
	b = appendAll(b, `{"ev":"order","cursor":"`, at.String(), `","key":"`, e.key, `","order":{"id":"`, e.order, `","sale":"`)
	b = strconv.AppendInt(b, e.sale, 10)
	b = appendAll(b, `","product_name":"`, e.name, `","qty":`, e.qty, `,"price_fen":`, e.price, `,"amount_fen":`)
	b = strconv.AppendInt(b, e.amount, 10)
	b = appendAll(b, `,"state":"pending","ticket":`, e.ticket, `,"rev":`, e.rev, `,"created_at":`)
	b = strconv.AppendInt(b, e.created, 10)
	b = append(b, `,"pay_by":`...)
	b = strconv.AppendInt(b, e.payBy, 10)
	return append(b, "}}"...)
}

// withCursor puts the cursor behind the first field, `ev`, of an event.
func withCursor(event string, at Cursor) []byte {
	first, rest, _ := strings.Cut(event, ",")
	b := make([]byte, 0, len(event)+64)
	b = append(b, first...)
	b = append(b, `,"cursor":"`...)
	b = append(b, at.String()...)
	b = append(b, `",`...)
	return append(b, rest...)
}
