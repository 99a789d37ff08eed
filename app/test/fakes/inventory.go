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

func (re *Redis) Now(context.Context) (shop.Millis, error) { return re.At, nil }

func (re *Redis) Schedule(_ context.Context, _ int, d []shop.Deadline) error {
	re.Add("deadline %d", len(d))
	return nil
}

func (re *Redis) Finish(_ context.Context, _ int, _ shop.Millis, rows []*shop.Order, entries []*shop.Entry) error {
	if re.Late > 0 {
		re.Late--
		return shop.ErrTooLate
	}
	re.Add("finish %d of %d", len(rows), len(entries))
	re.Published.Published = append(re.Published.Published, rows...)
	return nil
}

func (re *Redis) Return(_ context.Context, r []shop.Return) ([]bool, error) {
	re.Add("return %d", len(r))
	re.Returned = append(re.Returned, r...)
	return make([]bool, len(r)), nil
}

// Notifier records published orders.
type Notifier struct {
	*Trace
	Published []*shop.Order
	Late      int // number of calls that still return ErrTooLate
}

func (n *Notifier) Publish(_ context.Context, _ int, _ shop.Millis, rows []*shop.Order) error {
	if n.Late > 0 {
		n.Late--
		return shop.ErrTooLate
	}
	n.Add("publish %d", len(rows))
	n.Published = append(n.Published, rows...)
	return nil
}

func (re *Redis) Sell(_ context.Context, s []shop.SoldHold) ([]bool, error) {
	re.Add("sell %d", len(s))
	return make([]bool, len(s)), nil
}

func (re *Redis) Waiting(context.Context, shop.ID) ([]shop.Reservation, error) {
	return []shop.Reservation{{Order: 77}}, nil
}

func (re *Redis) Withdraw(_ context.Context, sold []shop.SoldHold) ([]bool, error) {
	re.Add("withdraw %d", len(sold))
	return make([]bool, len(sold)), nil
}

// WantSteps fails the test if the recorded steps differ.
func WantSteps(t *testing.T, tr *Trace, want ...string) {
	t.Helper()
	if !slices.Equal(tr.Steps, want) {
		t.Errorf("steps %v, want %v", tr.Steps, want)
	}
}
