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

func (b *DueStore) Expire(context.Context, []shop.ID, shop.Millis) ([]shop.Order, error) {
	if b.Err != nil {
		return nil, b.Err
	}
	b.Add("commit %d", len(b.Rows))
	for i := range b.Rows {
		b.Rows[i].Touched = b.Rows[i].PublishedRev < b.Rows[i].Rev
	}
	return b.Rows, nil
}

func (b *DueStore) Cancel(context.Context, shop.ID, shop.ID, shop.Millis) (shop.Order, error) {
	if b.Err != nil {
		return shop.Order{}, b.Err
	}
	b.Add("commit 1")
	b.Rows[0].Touched = true
	return b.Rows[0], nil
}

func (b *DueStore) Order(_ context.Context, id shop.ID) (shop.Order, error) {
	for _, o := range b.Rows {
		if o.ID == id {
			return o, nil
		}
	}
	return shop.Order{}, shop.ErrNoRow
}

func (b *DueStore) OrdersByID(context.Context, []shop.ID) ([]shop.Order, error) { return b.Rows, nil }

// OneOrder is an in-memory store of one order. It fails once, at the step that FailStep names.
type OneOrder struct {
	OrderStore
	*Trace
	Row      shop.Order
	FailStep string
}

// FailAt returns an error if FailStep names the step, and clears FailStep.
func (b *OneOrder) FailAt(step string) error {
	if b.FailStep != step {
		return nil
	}
	b.FailStep = ""
	return fmt.Errorf("%s: %w", step, shop.ErrTransient)
}

func (b *OneOrder) Order(context.Context, shop.ID) (shop.Order, error) {
	return b.Row, b.FailAt("read")
}

func (b *OneOrder) MarkPublished(context.Context, []*shop.Order) error { return nil }

func (b *OneOrder) OrdersByID(context.Context, []shop.ID) ([]shop.Order, error) {
	return []shop.Order{b.Row}, nil
}
