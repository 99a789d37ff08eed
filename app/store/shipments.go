package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Shipments keeps parcels, receipts and the work that follows them.
type Shipments struct{ *session }

// Parcel is a parcel that an operator has sent to the buyer of an order.
type Parcel struct {
	Order    shop.ID
	Carrier  string // display name
	Tracking string // the carrier's tracking number
}

// Label returns the carrier and the tracking number, for the buyer.
func (p *Parcel) Label() string { return p.Carrier + " " + p.Tracking }

// Shipment is a row of the shipments table: the parcel of an order.
type Shipment struct {
	Order     shop.ID     `json:"order"`
	Carrier   string      `json:"carrier"`
	Tracking  string      `json:"tracking"`
	ShippedAt shop.Millis `json:"shipped_at"`
	ShippedBy shop.ID     `json:"shipped_by,omitzero"` // an operator; absent: the command line
	FinishAt  shop.Millis `json:"finish_at,omitempty"` // when the order finishes without a confirmation; absent: not planned
}

// ShipOutcome is the outcome of entering a parcel.
type ShipOutcome string

// Outcomes of a parcel. Only the first one changes the order.
const (
	ShipDone          ShipOutcome = "shipped"        // the order is shipped now, or its parcel was replaced
	ShipUnchanged     ShipOutcome = "unchanged"      // already shipped with the same parcel
	ShipAnotherParcel ShipOutcome = "another_parcel" // already shipped with another parcel
	ShipRefund        ShipOutcome = "refund_asked"   // the buyer's refund request must be decided first
	ShipInDoubt       ShipOutcome = "in_doubt"       // the gateway did not confirm that the payment was not refunded
	ShipPartRefunded  ShipOutcome = "part_refunded"  // a part of the payment was refunded; the operator must confirm it
	ShipState         ShipOutcome = "wrong_state"    // neither paid nor shipped
	ShipNoOrder       ShipOutcome = "not_found"      // no such order
	ShipUnreadable    ShipOutcome = "bad_request"    // the line cannot be parsed
)

// Shipping holds the options for entering parcels.
type Shipping struct {
	By      shop.ID     // the operator; 0: the command line
	At      shop.Millis // now
	Finish  shop.Millis // when the orders finish without a confirmation of the buyer
	Replace bool        // replaces the parcel of an order that is shipped already
	// PartRefunded also ships orders of which a part was refunded.
	PartRefunded bool
	// Confirmed has the orders whose payments the gateway has confirmed after the last doubt.
	Confirmed map[shop.ID]bool
}

// ShippedOrder is the outcome of one parcel. With ShipNoOrder, Order is empty.
type ShippedOrder struct {
	Order   shop.Order
	Outcome ShipOutcome
}

// shipmentRow is the row of a Shipment.
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

func (r *shipmentRow) shipment() Shipment {
	return Shipment{
		Order: r.Order, Carrier: r.Carrier, Tracking: r.Tracking, ShippedAt: r.ShippedAt, ShippedBy: r.ShippedBy,
		FinishAt: zeroIfNil(r.FinishAt),
	}
}

// Ship changes paid orders to shipped and enters their parcels, all in one transaction. It returns the resulting
// orders, in the order of the parcels. Repeating the same parcel changes nothing. The orders' rows are locked first, in
// the order of their ids; shipments change only under these locks.
func (s Shipments) Ship(
	ctx context.Context, options Shipping, parcels []Parcel,
) ([]ShippedOrder, error) {
	return inTx(ctx, s.session, "enter parcels", func(tx bun.Conn) ([]ShippedOrder, error) {
		var rows []shop.Order
		for chunk := range sortedChunks(ordersOfParcels(parcels)) {
			part, err := s.Orders().lockOrders(ctx, tx, chunk)
			if err != nil {
				return nil, err
			}
			rows = append(rows, part...)
		}
		known, err := shippingOf(ctx, tx, rows)
		if err != nil {
			return nil, err
		}
		out := make([]ShippedOrder, len(parcels))
		for i := range parcels {
			o, outcome := known.outcomeOf(&parcels[i], options)
			if outcome == ShipDone && o.InDoubt && !options.Confirmed[o.ID] {
				outcome = ShipInDoubt
			}
			if outcome == ShipDone {
				if err := s.ship(ctx, tx, known, options, &parcels[i]); err != nil {
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

// InDoubt returns the given orders that were paid before a doubt. The database may have lost their refunds.
func (s Shipments) InDoubt(ctx context.Context, orders []shop.ID) (found []shop.ID, err error) {
	for chunk := range sortedChunks(orders) {
		err := s.db.NewRaw("SELECT o.id FROM orders AS o, history WHERE o.id IN (?) AND o.state = ? AND paid_at <= doubt_until",
			bun.List(chunk), shop.Paid).Scan(ctx, &found)
		if err != nil {
			return nil, wrap("list paid orders in doubt", err)
		}
	}
	return found, nil
}

// ship changes the order of a parcel, whose row is locked, to shipped and enters the parcel.
func (s Shipments) ship(
	ctx context.Context, tx bun.Conn, known *shipping, options Shipping, p *Parcel,
) error {
	o := known.orders[p.Order]
	o.Tracking = p.Label()
	if err := s.Orders().changeState(ctx, tx, o, shop.Shipped, "tracking = ?", o.Tracking); err != nil {
		return err
	}
	row := &shipmentRow{
		Order: o.ID, Carrier: p.Carrier, Tracking: p.Tracking, ShippedAt: options.At, ShippedBy: options.By,
		FinishAt: &options.Finish, MailAt: &options.At,
	}
	var err error
	if known.shipments[o.ID] == nil {
		_, err = tx.NewInsert().Model(row).Returning("NULL").Exec(ctx)
	} else {
		first := shop.Step{State: shop.Shipped, At: known.shipments[o.ID].ShippedAt}
		if err := s.Orders().keepSteps(ctx, tx, o.ID, first); err != nil {
			return err
		}
		_, err = tx.NewUpdate().Model(row).WherePK().Exec(ctx)
	}
	sent := row.shipment()
	known.shipments[o.ID] = &sent // a later line may name the same order
	return err
}

func ordersOfParcels(parcels []Parcel) []shop.ID {
	return convert(parcels, func(p *Parcel) shop.ID { return p.Order })
}

// shipping holds the orders, their shipments and their refund requests, which decide the outcome of parcels.
type shipping struct {
	orders          map[shop.ID]*shop.Order
	shipments       map[shop.ID]*Shipment
	refundRequested map[shop.ID]bool
}

func (s *shipping) outcomeOf(p *Parcel, options Shipping) (*shop.Order, ShipOutcome) {
	o := s.orders[p.Order]
	if o == nil {
		return nil, ShipNoOrder
	}
	return o, shipOutcome(o, s.shipments[o.ID], s.refundRequested[o.ID], p, options)
}

// shipOutcome returns the outcome of a parcel for an order. sent is the shipment of the order (nil: none). requested
// reports whether a refund request awaits a decision.
func shipOutcome(o *shop.Order, sent *Shipment, requested bool, p *Parcel, options Shipping) ShipOutcome {
	switch {
	case o.State == shop.Shipped && sent != nil && sent.Carrier == p.Carrier && sent.Tracking == p.Tracking:
		return ShipUnchanged
	case o.State == shop.Shipped && !options.Replace:
		return ShipAnotherParcel
	case o.State != shop.Paid && o.State != shop.Shipped:
		return ShipState
	case o.State == shop.Paid && requested:
		return ShipRefund
	case o.State == shop.Paid && o.RefundedFen > 0 && !options.PartRefunded:
		return ShipPartRefunded
	default:
		return ShipDone
	}
}

func shippingOf(ctx context.Context, db bun.IDB, rows []shop.Order) (*shipping, error) {
	k := &shipping{
		make(map[shop.ID]*shop.Order, len(rows)), make(map[shop.ID]*Shipment), make(map[shop.ID]bool),
	}
	for i := range rows {
		k.orders[rows[i].ID] = &rows[i]
	}
	for chunk := range sortedChunks(orderIDs(rows)) {
		var sent []shipmentRow
		if err := db.NewSelect().Model(&sent).Where("order_id IN (?)", bun.List(chunk)).Scan(ctx); err != nil {
			return nil, err
		}
		for i := range sent {
			shipment := sent[i].shipment()
			k.shipments[shipment.Order] = &shipment
		}
		requested, err := requestedRefunds(ctx, db, chunk)
		if err != nil {
			return nil, err
		}
		for _, id := range requested {
			k.refundRequested[id] = true
		}
	}
	return k, nil
}

// requestedRefunds returns the orders whose refund request awaits a decision.
func requestedRefunds(ctx context.Context, db bun.IDB, orders []shop.ID) (requested []shop.ID, err error) {
	err = db.NewSelect().Model((*refundRow)(nil)).Column("order_id").Where("order_id IN (?)", bun.List(orders)).
		Where("state = ?", payment.RefundRequested).Scan(ctx, &requested)
	return requested, err
}

// ShipmentOf reads the parcel of an order. ErrNoRow: no parcel was sent.
func (s Shipments) ShipmentOf(ctx context.Context, order shop.ID) (Shipment, error) {
	var row shipmentRow
	err := s.db.NewSelect().Model(&row).Where("order_id = ?", order).Scan(ctx)
	return row.shipment(), wrap("read the shipment of order "+order.String(), err)
}
