package fakes

import (
	"context"
	"fmt"

	"stampede/app/shop"
)

// DueStore has orders whose deadline has passed.
type DueStore struct {
	OrderStore
	*Trace
	Rows []shop.Order
	Err  error // Expire and Cancel return it instead of committing
}

func (d *DueStore) Expire(context.Context, []shop.ID, shop.Millis) ([]shop.Order, error) {
	if d.Err != nil {
		return nil, d.Err
	}
	d.Add("commit %d", len(d.Rows))
	for i := range d.Rows {
		d.Rows[i].Touched = d.Rows[i].PublishedRev < d.Rows[i].Rev
	}
	return d.Rows, nil
}

func (d *DueStore) Cancel(context.Context, shop.ID, shop.ID, shop.Millis) (shop.Order, error) {
	if d.Err != nil {
		return shop.Order{}, d.Err
	}
	d.Add("commit 1")
	d.Rows[0].Touched = true
	return d.Rows[0], nil
}

// Checking returns no order.
func (d *DueStore) Checking(context.Context, shop.ID) ([]shop.Order, error) { return nil, nil }

func (d *DueStore) Order(_ context.Context, id shop.ID) (shop.Order, error) {
	for _, o := range d.Rows {
		if o.ID == id {
			return o, nil
		}
	}
	return shop.Order{}, shop.ErrNoRow
}

func (d *DueStore) OrdersByID(context.Context, []shop.ID) ([]shop.Order, error) { return d.Rows, nil }

// OneOrder is an in-memory store of one order. It fails once, at the step that FailStep names.
type OneOrder struct {
	OrderStore
	*Trace
	Row      shop.Order
	FailStep string
}

// FailAt returns an error if FailStep names the step, and clears FailStep.
func (o *OneOrder) FailAt(step string) error {
	if o.FailStep != step {
		return nil
	}
	o.FailStep = ""
	return fmt.Errorf("%s: %w", step, shop.ErrTransient)
}

func (o *OneOrder) Order(context.Context, shop.ID) (shop.Order, error) {
	return o.Row, o.FailAt("read")
}

func (o *OneOrder) MarkPublished(context.Context, []*shop.Order) error { return nil }

func (o *OneOrder) OrdersByID(context.Context, []shop.ID) ([]shop.Order, error) {
	return []shop.Order{o.Row}, nil
}
