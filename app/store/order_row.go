package store

import (
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// maxReason is the width of the column; a longer reason is cut, because it is a note for people.
const maxReason = 200

// orderRow is shop.Order as the table has it.
type orderRow struct {
	bun.BaseModel `bun:"table:orders"`

	ID          shop.ID         `bun:"id,pk"`
	Sale        shop.ID         `bun:"sale_id"`
	User        shop.ID         `bun:"user_id"`
	Partition   int             `bun:"part"`
	Seq         int64           `bun:"seq"`
	Ticket      int64           `bun:"ticket"`
	Hold        int64           `bun:"hold"`
	Qty         int             `bun:"qty"`
	PriceFen    int64           `bun:"price_fen"`
	AmountFen   int64           `bun:"amount_fen"`
	SaleVersion int64           `bun:"sale_version"`
	State       shop.OrderState `bun:"state"`
	Rev         int             `bun:"rev"`
	ToldRev     int             `bun:"published_rev"`
	UntoldSince *shop.Millis    `bun:"unpublished_since"`
	CreatedAt   shop.Millis     `bun:"created_at"`
	PayBy       shop.Millis     `bun:"pay_by"`
	PaidAt      shop.Millis     `bun:"paid_at"`
	CancelledAt shop.Millis     `bun:"cancelled_at"`
	TradeOpened shop.Millis     `bun:"trade_opened"`
	Key         *string         `bun:"idem_key"`
	ContentHash string          `bun:"content_hash"`
	TradeNo     string          `bun:"trade_no"`
	Tracking    string          `bun:"tracking"`
	Reason      string          `bun:"reason"`
	ProductName string          `bun:"product_name"`
	Address     *string         `bun:"address"`
}

// newRow is the first row of an order.
func newRow(o *shop.Order) (orderRow, error) {
	row := orderRow{
		ID: o.ID, Sale: o.Sale, User: o.User, Partition: o.Partition, Seq: o.Seq, Ticket: o.Ticket, Hold: o.Hold,
		Qty: o.Qty, PriceFen: o.PriceFen, AmountFen: o.AmountFen, SaleVersion: o.SaleVersion, State: o.State,
		Rev: o.Rev, ToldRev: o.ToldRev, CreatedAt: o.CreatedAt, PayBy: o.PayBy, PaidAt: o.PaidAt,
		CancelledAt: o.CancelledAt, TradeOpened: o.TradeOpened, ContentHash: o.ContentHash, TradeNo: o.TradeNo,
		Tracking: o.Tracking, Reason: o.Reason, ProductName: o.ProductName,
	}
	if o.Key != "" {
		row.Key = &o.Key // no copy: this is on the way of every insert
	}
	if o.Address != nil {
		text, err := json.Marshal(o.Address)
		if err != nil {
			return orderRow{}, fmt.Errorf("%w: encode address of order %s: %w", shop.ErrPermanent, o.ID, err)
		}
		row.Address = new(string(text))
	}
	return row, nil
}

// columnDefaults are the defaults of the table, which say what nearly every order begins with.
var columnDefaults = []struct {
	column string
	in     func(r *orderRow) bool // whether the row has it
}{
	{"hold", func(r *orderRow) bool { return r.Hold == 1 }},
	{"qty", func(r *orderRow) bool { return r.Qty == 1 }},
	{"state", func(r *orderRow) bool { return r.State == shop.Pending }},
	{"rev", func(r *orderRow) bool { return r.Rev == 1 }},
	{"published_rev", func(r *orderRow) bool { return r.ToldRev == 1 }},
	{"unpublished_since", func(r *orderRow) bool { return r.UntoldSince == nil }},
	{"paid_at", func(r *orderRow) bool { return r.PaidAt == 0 }},
	{"cancelled_at", func(r *orderRow) bool { return r.CancelledAt == 0 }},
	{"trade_opened", func(r *orderRow) bool { return r.TradeOpened == 0 }},
	{"trade_no", func(r *orderRow) bool { return r.TradeNo == "" }},
	{"tracking", func(r *orderRow) bool { return r.Tracking == "" }},
	{"reason", func(r *orderRow) bool { return r.Reason == "" }},
	{"address", func(r *orderRow) bool { return r.Address == nil }},
}

// unsaid lists the columns that have their default in all rows. An INSERT without them is half as long; the database
// spends a quarter of its time reading INSERTs.
func unsaid(rows []orderRow) []string {
	columns := make([]string, 0, len(columnDefaults))
	for _, d := range columnDefaults {
		i := 0
		for i < len(rows) && d.in(&rows[i]) {
			i++
		}
		if i == len(rows) {
			columns = append(columns, d.column)
		}
	}
	return columns
}

func (r *orderRow) order() (shop.Order, error) {
	o := shop.Order{
		ID: r.ID, Sale: r.Sale, User: r.User, Partition: r.Partition, Seq: r.Seq, Ticket: r.Ticket, Hold: r.Hold,
		Qty: r.Qty, PriceFen: r.PriceFen, AmountFen: r.AmountFen, SaleVersion: r.SaleVersion, State: r.State,
		Rev: r.Rev, ToldRev: r.ToldRev, CreatedAt: r.CreatedAt, PayBy: r.PayBy, PaidAt: r.PaidAt,
		CancelledAt: r.CancelledAt, TradeOpened: r.TradeOpened, ContentHash: r.ContentHash, TradeNo: r.TradeNo,
		Tracking: r.Tracking, Reason: r.Reason, ProductName: r.ProductName, Key: orZero(r.Key),
	}
	if r.Address != nil {
		o.Address = new(shop.Address)
		if err := json.Unmarshal([]byte(*r.Address), o.Address); err != nil {
			return shop.Order{}, fmt.Errorf("%w: read address of order %s: %w", shop.ErrPermanent, r.ID, err)
		}
	}
	return o, nil
}

func orders(rows []orderRow) ([]shop.Order, error) {
	out := make([]shop.Order, len(rows))
	for i := range rows {
		o, err := rows[i].order()
		if err != nil {
			return nil, err
		}
		out[i] = o
	}
	return out, nil
}
