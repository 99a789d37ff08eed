package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

var _ app.ShipmentStore = (*Store)(nil)

// shipmentRow is app.Shipment as the table has it.
type shipmentRow struct {
	bun.BaseModel `bun:"table:shipments"`

	Order     app.ID      `bun:"order_id,pk"`
	Carrier   string      `bun:"carrier"`
	Tracking  string      `bun:"tracking"`
	ShippedAt app.Millis  `bun:"shipped_at"`
	ShippedBy app.ID      `bun:"shipped_by"`
	FinishAt  *app.Millis `bun:"finish_at"`
	MailAt    *app.Millis `bun:"mail_at"`
}

func (r *shipmentRow) shipment() app.Shipment {
	return app.Shipment{
		Order: r.Order, Carrier: r.Carrier, Tracking: r.Tracking, ShippedAt: r.ShippedAt, ShippedBy: r.ShippedBy,
		FinishAt: orZero(r.FinishAt),
	}
}

// Ship makes paid orders shipped. Their rows are locked first, in the order of their ids; shipments change under these
// locks alone. See app.ShipmentStore.
func (s *Store) Ship(ctx context.Context, how app.Shipping, parcels []app.Parcel) ([]app.ShippedOrder, error) {
	return inTx(ctx, s, "enter parcels", func(tx bun.Conn) ([]app.ShippedOrder, error) {
		var rows []app.Order
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
		out := make([]app.ShippedOrder, len(parcels))
		for i := range parcels {
			o, outcome := known.judge(&parcels[i], how.Replace)
			if outcome == app.ShipDone {
				if err := s.ship(ctx, tx, o, known, how, &parcels[i]); err != nil {
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

// ship flips one order, whose row is locked, and enters its parcel.
func (s *Store) ship(
	ctx context.Context, tx bun.Conn, o *app.Order, known *shipping, how app.Shipping, p *app.Parcel,
) error {
	o.Tracking = p.Label()
	if err := s.flip(ctx, tx, o, app.Shipped, "tracking = ?", o.Tracking); err != nil {
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

// LookShip says what Ship would do. See app.ShipmentStore.
func (s *Store) LookShip(ctx context.Context, how app.Shipping, parcels []app.Parcel) ([]app.ShippedOrder, error) {
	rows, err := s.OrdersByID(ctx, ordersOfParcels(parcels))
	if err != nil {
		return nil, err
	}
	known, err := shippingOf(ctx, s.db, rows)
	if err != nil {
		return nil, wrap("look at parcels", err)
	}
	out := make([]app.ShippedOrder, len(parcels))
	for i := range parcels {
		o, outcome := known.judge(&parcels[i], how.Replace)
		if out[i].Outcome = outcome; o == nil {
			continue
		}
		if outcome == app.ShipDone {
			p := &parcels[i]
			o.State, known.sent[o.ID] = app.Shipped, &app.Shipment{Carrier: p.Carrier, Tracking: p.Tracking}
		}
		out[i].Order = *o
	}
	return out, nil
}

func ordersOfParcels(parcels []app.Parcel) []app.ID {
	return convert(parcels, func(p *app.Parcel) app.ID { return p.Order })
}

// shipping is what decides on parcels: the orders, what was sent of them, and whose refund is asked for.
type shipping struct {
	orders map[app.ID]*app.Order
	sent   map[app.ID]*app.Shipment
	asked  map[app.ID]bool
}

func (k *shipping) judge(p *app.Parcel, replace bool) (*app.Order, app.ShipOutcome) {
	o := k.orders[p.Order]
	if o == nil {
		return nil, app.ShipNoOrder
	}
	return o, app.JudgeShip(o, k.sent[o.ID], k.asked[o.ID], p, replace)
}

func shippingOf(ctx context.Context, db bun.IDB, rows []app.Order) (*shipping, error) {
	k := &shipping{make(map[app.ID]*app.Order, len(rows)), make(map[app.ID]*app.Shipment), make(map[app.ID]bool)}
	for i := range rows {
		k.orders[rows[i].ID] = &rows[i]
	}
	for some := range inOrder(convert(rows, func(o *app.Order) app.ID { return o.ID })) {
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
func refundsAsked(ctx context.Context, db bun.IDB, orders []app.ID) (asked []app.ID, err error) {
	err = db.NewSelect().Model((*refundRow)(nil)).Column("order_id").Where("order_id IN (?)", bun.List(orders)).
		Where("state = ?", app.RefundAsked).Scan(ctx, &asked)
	return asked, err
}

// ShipmentOf reads the parcel of an order. See app.ShipmentStore.
func (s *Store) ShipmentOf(ctx context.Context, order app.ID) (app.Shipment, error) {
	var row shipmentRow
	err := s.db.NewSelect().Model(&row).Where("order_id = ?", order).Scan(ctx)
	return row.shipment(), wrap("read the shipment of order "+order.String(), err)
}
