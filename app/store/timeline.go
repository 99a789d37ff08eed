package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// stateRow is a step of an order that no other row keeps.
type stateRow struct {
	bun.BaseModel `bun:"table:order_states"`

	Order shop.ID         `bun:"order_id,pk"`
	At    shop.Millis     `bun:"at,pk"`
	State shop.OrderState `bun:"state,pk"`
}

// keepSteps stores steps of an order whose row is locked. A repeat changes nothing.
func (s Orders) keepSteps(ctx context.Context, tx bun.Conn, order shop.ID, steps ...shop.Step) error {
	for _, step := range steps {
		_, err := exec(ctx, tx, "INSERT INTO order_states (order_id, at, state) VALUES (?, ?, ?) "+s.d.onDuplicate+
			" state = order_states.state", order, step.At, step.State)
		if err != nil {
			return err
		}
	}
	return nil
}

// Trail reads the past of an order of the user: from its parcel, its refund and the stored steps.
func (s Orders) Trail(ctx context.Context, order, user shop.ID) (shop.Trail, error) {
	var trail shop.Trail
	var rows []stateRow
	var parcels []shipmentRow
	var refunds []refundRow
	for _, model := range []any{&rows, &parcels, &refunds} {
		if err := s.db.NewSelect().Model(model).Where("order_id = ?", order).Scan(ctx); err != nil {
			return trail, wrap("read the past of order "+order.String(), err)
		}
	}
	for _, r := range rows {
		trail.Steps = append(trail.Steps, shop.Step{State: r.State, At: r.At})
	}
	for i := range parcels {
		trail.Carrier = parcels[i].Carrier
		trail.Steps = append(trail.Steps, shop.Step{State: shop.Shipped, At: parcels[i].ShippedAt})
	}
	for i := range refunds {
		trail.Steps = append(trail.Steps, refunds[i].steps(user)...)
	}
	return trail, nil
}

// steps returns the steps of a refund. If the buyer has not requested it, only the decision is a step.
func (r *refundRow) steps(buyer shop.ID) []shop.Step {
	asked := shop.Step{State: shop.RefundAsked, At: r.RequestedAt}
	var all []shop.Step
	switch {
	case r.State == payment.RefundRequested:
		return []shop.Step{asked}
	case r.State == payment.RefundDeclined:
		return []shop.Step{asked, {State: shop.RefundDeclined, At: r.DecidedAt}}
	}
	if r.RequestedBy == buyer {
		all = append(all, asked)
	}
	all = append(all, shop.Step{State: shop.Refunding, At: r.DecidedAt})
	if r.State == payment.RefundDone {
		all = append(all, shop.Step{State: shop.Refunded, At: r.DoneAt})
	}
	return all
}
