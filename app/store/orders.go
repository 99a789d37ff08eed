package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Orders keeps the rows of orders. Payments, Refunds and Shipments change the states that money and parcels decide.
// Each new state goes through changeState or end.
type Orders struct{ *session }

// Order reads one row. ErrNoRow: no such order.
func (s Orders) Order(ctx context.Context, id shop.ID) (shop.Order, error) {
	found, err := s.OrdersByID(ctx, []shop.ID{id})
	return firstRow("read order "+id.String(), found, err)
}

// OrdersByID reads the rows that exist, without duplicates.
func (s Orders) OrdersByID(ctx context.Context, ids []shop.ID) ([]shop.Order, error) {
	out := make([]shop.Order, 0, len(ids))
	for chunk := range sortedChunks(ids) {
		rows, err := s.readOrders(ctx, "read orders by id", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("id IN (?)", bun.List(chunk)).Order("id")
		})
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// OrdersOf returns one page of a user's orders, the newest first; more reports whether older orders exist.
func (s Orders) OrdersOf(ctx context.Context, q shop.OrdersQuery) (page []shop.Order, more bool, err error) {
	// The ids come from the index alone, so that only the rows of the page are read. The index is not sorted by id:
	// without the hint MySQL may scan backwards through all orders. SQLite ignores the hint; its index is sorted by id.
	ids := s.db.NewSelect().Model((*orderRow)(nil)).Column("id").ForceIndex("orders_key").
		Where("user_id = ?", q.User).Order("id DESC").Limit(int64(q.Limit) + 1)
	ids = whereSet(whereSet(ids, "sale_id = ?", q.Sale), "id < ?", q.Before)
	page, err = s.readOrders(ctx, "read orders of user "+q.User.String(), func(sel *bun.SelectQuery) *bun.SelectQuery {
		return sel.Join("JOIN (?) AS page USING (id)", ids).Order("id DESC")
	})
	page, more = trimPage(page, q.Limit)
	return page, more, err
}

// OrdersOfSale reads orders of a sale in the order of their ids, after the given id.
func (s Orders) OrdersOfSale(ctx context.Context, sale, after shop.ID, limit int) ([]shop.Order, error) {
	return s.readOrders(ctx, "read orders of sale "+sale.String(), func(q *bun.SelectQuery) *bun.SelectQuery {
		// Without the hint MySQL reads each page from the beginning of the sale. SQLite ignores the hint.
		return q.ForceIndex("orders_sale").Where("sale_id = ?", sale).Where("id > ?", after).Order("id").
			Limit(int64(limit))
	})
}

// Unpublished lists orders whose newest state has been unpublished since an instant before `before`, the oldest first.
// It omits the orders of the partitions excluded. The instants are by the wall clock of the process that wrote the row.
func (s Orders) Unpublished(ctx context.Context, before shop.Millis, limit int, excluded ...int) ([]shop.Order, error) {
	return s.readOrders(ctx, "read unpublished orders", func(q *bun.SelectQuery) *bun.SelectQuery {
		return outsidePartitions(excluded, q).Where("unpublished_since < ?", before).Order("unpublished_since").
			Limit(int64(limit))
	})
}

// Overdue lists pending orders with pay_by before the given instant, except the orders of the partitions excluded.
// Orders without an opened trade come first. Within each group the oldest comes first. Orders that wait for an
// unresponsive payment gateway therefore never displace other orders from the list.
func (s Orders) Overdue(ctx context.Context, before shop.Millis, limit int, excluded ...int) ([]shop.Order, error) {
	return s.readOrders(ctx, "read overdue orders", func(q *bun.SelectQuery) *bun.SelectQuery {
		// The literal state lets SQLite use its partial index.
		return outsidePartitions(excluded, q).Where("state = 'pending'").Where("pay_by < ?", before).
			OrderExpr("CASE WHEN trade_opened = 0 THEN 0 ELSE 1 END, pay_by").Limit(int64(limit))
	})
}

// outsidePartitions excludes the orders of the partitions from a query.
func outsidePartitions(partitions []int, q *bun.SelectQuery) *bun.SelectQuery {
	if len(partitions) == 0 {
		return q
	}
	return q.Where("part NOT IN (?)", bun.List(partitions))
}

func (s Orders) readOrders(ctx context.Context, action string, narrow selection) ([]shop.Order, error) {
	var rows []orderRow
	if err := narrow(s.db.NewSelect().Model(&rows)).Scan(ctx); err != nil {
		return nil, wrap(action, err)
	}
	return orders(rows)
}

// maxReason is the width of the column, in characters. A longer reason is cut, because it is a note for people.
const maxReason = 200

// orderRow is the row of a shop.Order.
type orderRow struct {
	bun.BaseModel `bun:"table:orders"`

	ID               shop.ID         `bun:"id,pk"`
	Sale             shop.ID         `bun:"sale_id"`
	User             shop.ID         `bun:"user_id"`
	Partition        int             `bun:"part"`
	Seq              int64           `bun:"seq"`
	Ticket           int64           `bun:"ticket"`
	Hold             int64           `bun:"hold"`
	Qty              int             `bun:"qty"`
	PriceFen         int64           `bun:"price_fen"`
	AmountFen        int64           `bun:"amount_fen"`
	RefundedFen      int64           `bun:"refunded_fen"`
	SaleVersion      int64           `bun:"sale_version"`
	State            shop.OrderState `bun:"state"`
	Rev              int             `bun:"rev"`
	PublishedRev     int             `bun:"published_rev"`
	UnpublishedSince *shop.Millis    `bun:"unpublished_since"`
	CreatedAt        shop.Millis     `bun:"created_at"`
	PayBy            shop.Millis     `bun:"pay_by"`
	PaidAt           shop.Millis     `bun:"paid_at"`
	CancelledAt      shop.Millis     `bun:"cancelled_at"`
	TradeOpened      shop.Millis     `bun:"trade_opened"`
	Key              *string         `bun:"idem_key"`
	ContentHash      string          `bun:"content_hash"`
	TradeNo          string          `bun:"trade_no"`
	Tracking         string          `bun:"tracking"`
	Reason           string          `bun:"reason"`
	ProductName      string          `bun:"product_name"`
	Address          *string         `bun:"address"`
	InsertedAt       shop.Millis     `bun:"inserted_at"`
}

// newRow returns the first row of an order.
func newRow(o *shop.Order) (orderRow, error) {
	row := orderRow{
		ID: o.ID, Sale: o.Sale, User: o.User, Partition: o.Partition, Seq: o.Seq, Ticket: o.Ticket, Hold: o.Hold,
		Qty: o.Qty, PriceFen: o.PriceFen, AmountFen: o.AmountFen, SaleVersion: o.SaleVersion, State: o.State,
		Rev: o.Rev, PublishedRev: o.PublishedRev, CreatedAt: o.CreatedAt, PayBy: o.PayBy, PaidAt: o.PaidAt,
		CancelledAt: o.CancelledAt, TradeOpened: o.TradeOpened, ContentHash: o.ContentHash, TradeNo: o.TradeNo,
		Tracking: o.Tracking, Reason: o.Reason, ProductName: o.ProductName, InsertedAt: o.InsertedAt,
		RefundedFen: o.RefundedFen,
	}
	if o.Key != "" {
		row.Key = &o.Key // not copied, to save an allocation per insert
	}
	if o.Address != nil {
		text, err := encodeAddress(o.ID, o.Address)
		if err != nil {
			return orderRow{}, err
		}
		row.Address = &text
	}
	return row, nil
}

// encodeAddress returns the content of the column address.
func encodeAddress(order shop.ID, address *shop.Address) (string, error) {
	text, err := json.Marshal(address)
	if err != nil {
		return "", fmt.Errorf("%w: encode address of order %s: %w", shop.ErrPermanent, order, err)
	}
	return string(text), nil
}

// columnDefaults are the defaults of the table, which nearly every new order has.
var columnDefaults = []struct {
	column string
	equals func(r *orderRow) bool // reports whether the row has the default value
}{
	{"refunded_fen", func(r *orderRow) bool { return r.RefundedFen == 0 }},
	{"hold", func(r *orderRow) bool { return r.Hold == 1 }},
	{"qty", func(r *orderRow) bool { return r.Qty == 1 }},
	{"state", func(r *orderRow) bool { return r.State == shop.Pending }},
	{"rev", func(r *orderRow) bool { return r.Rev == 1 }},
	{"published_rev", func(r *orderRow) bool { return r.PublishedRev == 1 }},
	{"unpublished_since", func(r *orderRow) bool { return r.UnpublishedSince == nil }},
	{"paid_at", func(r *orderRow) bool { return r.PaidAt == 0 }},
	{"cancelled_at", func(r *orderRow) bool { return r.CancelledAt == 0 }},
	{"trade_opened", func(r *orderRow) bool { return r.TradeOpened == 0 }},
	{"trade_no", func(r *orderRow) bool { return r.TradeNo == "" }},
	{"tracking", func(r *orderRow) bool { return r.Tracking == "" }},
	{"reason", func(r *orderRow) bool { return r.Reason == "" }},
	{"address", func(r *orderRow) bool { return r.Address == nil }},
	{"inserted_at", func(r *orderRow) bool { return r.InsertedAt == 0 }},
}

// defaultColumns lists the columns that have their default in all rows. Without them an INSERT is half as long. This
// saves time, because the database spends a quarter of its time parsing INSERTs.
func defaultColumns(rows []orderRow) []string {
	columns := make([]string, 0, len(columnDefaults))
	for _, d := range columnDefaults {
		i := 0
		for i < len(rows) && d.equals(&rows[i]) {
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
		Rev: r.Rev, PublishedRev: r.PublishedRev, CreatedAt: r.CreatedAt, PayBy: r.PayBy, PaidAt: r.PaidAt,
		CancelledAt: r.CancelledAt, TradeOpened: r.TradeOpened, ContentHash: r.ContentHash, TradeNo: r.TradeNo,
		Tracking: r.Tracking, Reason: r.Reason, ProductName: r.ProductName, Key: zeroIfNil(r.Key),
		InsertedAt: r.InsertedAt, RefundedFen: r.RefundedFen,
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

func orderIDs(rows []shop.Order) []shop.ID {
	return convert(rows, func(o *shop.Order) shop.ID { return o.ID })
}
