package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/app/shop"
)

var _ backoffice.ShipmentStore = (*Store)(nil)

// shipmentRow is backoffice.Shipment as the table has it.
type shipmentRow struct {
	bun.BaseModel `bun:"table:shipments"`

	Order     shop.ID      `bun:"order_id,pk"`
	Carrier   string       `bun:"carrier"`
	Tracking  string       `bun:"tracking"`
	ShippedAt shop.Millis  `bun:"shipped_at"`
	ShippedBy shop.ID      `bun:"shipped_by"`
	FinishAt  *shop.Millis `bun:"finish_at"`
	MailAt    *shop.Millis `bun:"mail_at"`
}

func (r *shipmentRow) shipment() backoffice.Shipment {
	return backoffice.Shipment{
		Order: r.Order, Carrier: r.Carrier, Tracking: r.Tracking, ShippedAt: r.ShippedAt, ShippedBy: r.ShippedBy,
		FinishAt: orZero(r.FinishAt),
	}
}

// Ship flips paid orders to shipped and enters their parcels, all in one transaction. It answers, in the order of the
// parcels, each order as it is afterwards. The same parcel again changes nothing. Their rows are locked first, in the
// order of their ids; shipments change under these locks alone.
func (s *Store) Ship(
	ctx context.Context, how backoffice.Shipping, parcels []backoffice.Parcel,
) ([]backoffice.ShippedOrder, error) {
	return inTx(ctx, s, "enter parcels", func(tx bun.Conn) ([]backoffice.ShippedOrder, error) {
		var rows []shop.Order
		for some := range inOrder(ordersOfParcels(parcels)) {
			part, err := s.lockOrders(ctx, tx, some)
			if err != nil {
				return nil, err
			}
			rows = append(rows, part...)
		}
		known, err := shippingOf(ctx, tx, rows)
		if err != nil {
			return nil, err
		}
		out := make([]backoffice.ShippedOrder, len(parcels))
		for i := range parcels {
			o, outcome := known.judge(&parcels[i], how.Replace)
			if outcome == backoffice.ShipDone {
				if err := s.ship(ctx, tx, known, how, &parcels[i]); err != nil {
					return nil, err
				}
			}
			out[i].Outcome = outcome
			if o != nil {
				out[i].Order = *o
			}
		}
		return out, nil
	})
}

// ship flips the order of a parcel, whose row is locked, and enters the parcel.
func (s *Store) ship(
	ctx context.Context, tx bun.Conn, known *shipping, how backoffice.Shipping, p *backoffice.Parcel,
) error {
	o := known.orders[p.Order]
	o.Tracking = p.Label()
	if err := s.flip(ctx, tx, o, shop.Shipped, "tracking = ?", o.Tracking); err != nil {
		return err
	}
	row := &shipmentRow{
		Order: o.ID, Carrier: p.Carrier, Tracking: p.Tracking, ShippedAt: how.At, ShippedBy: how.By,
		FinishAt: &how.Finish, MailAt: &how.At,
	}
	var err error
	if known.sent[o.ID] == nil {
		_, err = tx.NewInsert().Model(row).Returning("NULL").Exec(ctx)
	} else {
		_, err = tx.NewUpdate().Model(row).WherePK().Exec(ctx)
	}
	sent := row.shipment()
	known.sent[o.ID] = &sent // another line may name the same order
	return err
}

// LookShip answers what Ship would, and changes nothing.
func (s *Store) LookShip(
	ctx context.Context, how backoffice.Shipping, parcels []backoffice.Parcel,
) ([]backoffice.ShippedOrder, error) {
	rows, err := s.OrdersByID(ctx, ordersOfParcels(parcels))
	if err != nil {
		return nil, err
	}
	known, err := shippingOf(ctx, s.db, rows)
	if err != nil {
		return nil, wrap("look at parcels", err)
	}
	out := make([]backoffice.ShippedOrder, len(parcels))
	for i := range parcels {
		o, outcome := known.judge(&parcels[i], how.Replace)
		if out[i].Outcome = outcome; o == nil {
			continue
		}
		if outcome == backoffice.ShipDone {
			p := &parcels[i]
			o.State, known.sent[o.ID] = shop.Shipped, &backoffice.Shipment{Carrier: p.Carrier, Tracking: p.Tracking}
		}
		out[i].Order = *o
	}
	return out, nil
}

func ordersOfParcels(parcels []backoffice.Parcel) []shop.ID {
	return convert(parcels, func(p *backoffice.Parcel) shop.ID { return p.Order })
}

// shipping is what decides on parcels: the orders, what was sent of them, and whose refund is asked for.
type shipping struct {
	orders map[shop.ID]*shop.Order
	sent   map[shop.ID]*backoffice.Shipment
	asked  map[shop.ID]bool
}

func (k *shipping) judge(p *backoffice.Parcel, replace bool) (*shop.Order, backoffice.ShipOutcome) {
	o := k.orders[p.Order]
	if o == nil {
		return nil, backoffice.ShipNoOrder
	}
	return o, backoffice.JudgeShip(o, k.sent[o.ID], k.asked[o.ID], p, replace)
}

func shippingOf(ctx context.Context, db bun.IDB, rows []shop.Order) (*shipping, error) {
	k := &shipping{
		make(map[shop.ID]*shop.Order, len(rows)), make(map[shop.ID]*backoffice.Shipment), make(map[shop.ID]bool),
	}
	for i := range rows {
		k.orders[rows[i].ID] = &rows[i]
	}
	for some := range inOrder(convert(rows, func(o *shop.Order) shop.ID { return o.ID })) {
		var sent []shipmentRow
		if err := db.NewSelect().Model(&sent).Where("order_id IN (?)", bun.List(some)).Scan(ctx); err != nil {
			return nil, err
		}
		for i := range sent {
			one := sent[i].shipment()
			k.sent[one.Order] = &one
		}
		asked, err := refundsAsked(ctx, db, some)
		if err != nil {
			return nil, err
		}
		for _, id := range asked {
			k.asked[id] = true
		}
	}
	return k, nil
}

// refundsAsked names those of the orders whose buyers wait for an operator's word on their refund.
func refundsAsked(ctx context.Context, db bun.IDB, orders []shop.ID) (asked []shop.ID, err error) {
	err = db.NewSelect().Model((*refundRow)(nil)).Column("order_id").Where("order_id IN (?)", bun.List(orders)).
		Where("state = ?", payment.RefundAsked).Scan(ctx, &asked)
	return asked, err
}

// ShipmentOf reads the parcel of an order. ErrNoRow: none was sent.
func (s *Store) ShipmentOf(ctx context.Context, order shop.ID) (backoffice.Shipment, error) {
	var row shipmentRow
	err := s.db.NewSelect().Model(&row).Where("order_id = ?", order).Scan(ctx)
	return row.shipment(), wrap("read the shipment of order "+order.String(), err)
}
