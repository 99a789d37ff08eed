package fakes

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stampede/app/shop"
)

// Trace records the calls of a flow in order.
type Trace struct{ Steps []string }

// Add records a step.
func (tr *Trace) Add(format string, args ...any) {
	tr.Steps = append(tr.Steps, fmt.Sprintf(format, args...))
}

// Redis records the steps of a flow. Methods that a test does not use panic.
type Redis struct {
	Inventory
	*Trace
	Returned  []shop.Return
	At        shop.Millis
	Published *Notifier // receives the orders that Finish publishes
	Late      int       // number of calls of Finish that still return ErrTooLate
}

func (l *Redis) Now(context.Context) (shop.Millis, error) { return l.At, nil }

func (l *Redis) Schedule(_ context.Context, _ int, d []shop.Deadline) error {
	l.Add("deadline %d", len(d))
	return nil
}

func (l *Redis) Finish(_ context.Context, _ int, _ shop.Millis, rows []*shop.Order, entries []*shop.Entry) error {
	if l.Late > 0 {
		l.Late--
		return shop.ErrTooLate
	}
	l.Add("finish %d of %d", len(rows), len(entries))
	l.Published.Published = append(l.Published.Published, rows...)
	return nil
}

func (l *Redis) Return(_ context.Context, r []shop.Return) ([]bool, error) {
	l.Add("return %d", len(r))
	l.Returned = append(l.Returned, r...)
	return make([]bool, len(r)), nil
}

// Notifier records published orders.
type Notifier struct {
	*Trace
	Published []*shop.Order
	Late      int // number of calls that still return ErrTooLate
}

func (f *Notifier) Publish(_ context.Context, _ int, _ shop.Millis, rows []*shop.Order) error {
	if f.Late > 0 {
		f.Late--
		return shop.ErrTooLate
	}
	f.Add("publish %d", len(rows))
	f.Published = append(f.Published, rows...)
	return nil
}

func (l *Redis) Sell(_ context.Context, s []shop.SoldHold) ([]bool, error) {
	l.Add("sell %d", len(s))
	return make([]bool, len(s)), nil
}

func (l *Redis) Waiting(context.Context, shop.ID) ([]shop.Reservation, error) {
	return []shop.Reservation{{Order: 77}}, nil
}

func (l *Redis) Withdraw(_ context.Context, sold []shop.SoldHold) ([]bool, error) {
	l.Add("withdraw %d", len(sold))
	return make([]bool, len(sold)), nil
}

// WantSteps fails the test if the recorded steps differ.
func WantSteps(t *testing.T, tr *Trace, want ...string) {
	t.Helper()
	if !slices.Equal(tr.Steps, want) {
		t.Errorf("steps %v, want %v", tr.Steps, want)
	}
}
