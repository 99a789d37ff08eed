package faults

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stampede/app/order"
	"stampede/app/shop"
)

func noTrigger(string) { panic("got a freeze, want a kill or nothing") }

// callsBeforeTriggers returns the calls that were made before each time the point is triggered. An expirer handles the
// deadline of an order, its cancellation and its deadline again.
func callsBeforeTriggers(t *testing.T, spec string, callErr error) (calledBefore []string) {
	t.Helper()
	var calls []string
	a, err := Arm(spec, func(string) { calledBefore = append(calledBefore, strings.Join(calls, " ")) }, noTrigger)
	if err != nil {
		t.Fatal(err)
	}
	x := &order.Expirer{Stock: acceptingRedis{}, Store: oneOrderStore{}, Effects: &order.Effects{
		Stock: acceptingRedis{}, Queue: acceptingRedis{}, Notifier: acceptingRedis{}, Store: oneOrderStore{},
		PublishMarks: &order.PublishMarks{Store: oneOrderStore{}},
	}}
	ctx := With(t.Context(), func(ctx context.Context, name string, call func() error) error {
		return a.Fault(ctx, name, func() error {
			calls = append(calls, name[strings.LastIndexAny(name, " .")+1:])
			return callErr
		})
	})
	_, _ = x.Due(ctx, 0, []shop.ID{1})
	_, _ = x.Cancel(ctx, 2, 1)
	_, _ = x.Due(ctx, 0, []shop.ID{1})
	return calledBefore
}

// oneOrderStore has one order. Expire and Cancel end it.
type oneOrderStore struct{ order.Store }

func (oneOrderStore) Expire(ctx context.Context, _ []shop.ID, _ shop.Millis) ([]shop.Order, error) {
	ended := shop.Order{ID: 1, State: shop.Expired, Rev: 2, Touched: true}
	return []shop.Order{ended}, OfContext(ctx, "Orders.Expire", nil)
}

func (oneOrderStore) Cancel(ctx context.Context, _, _ shop.ID, _ shop.Millis) (shop.Order, error) {
	return shop.Order{ID: 1, State: shop.Cancelled, Rev: 2, Touched: true}, OfContext(ctx, "Orders.Cancel", nil)
}

// acceptingRedis accepts returned units.
type acceptingRedis struct {
	order.Stock
	order.Queue
}

func (acceptingRedis) Now(context.Context) (shop.Millis, error) { return 1, nil }

func (acceptingRedis) Return(ctx context.Context, _ []shop.Return) ([]bool, error) {
	return []bool{true}, OfContext(ctx, "script return", nil)
}

func (acceptingRedis) Publish(ctx context.Context, _ int, _ shop.Millis, _ []*shop.Order) error {
	return OfContext(ctx, "script publish", nil)
}

// A point is triggered before or after its call, only in its own flow, and once, at the execution given after #.
func TestPointIsTriggeredOnceAtRequestedExecution(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][]string{
		"expire.after-commit":   {"Expire"},
		"expire.after-return":   {"Expire return"},
		"expire.after-publish":  {"Expire return publish"},
		"expire.after-return#2": {"Expire return publish Cancel return publish Expire return"},
		"expire.after-return#3": nil,
		"cancel.after-commit":   {"Expire return publish Cancel"},
		"effects.after-units":   {"Expire return publish Cancel return"},
		"effects.after-publish": {"Expire return publish Cancel return publish"},
		"late.after-sell":       nil,
		"close.after-return":    nil,
	} {
		if got := callsBeforeTriggers(t, spec, nil); !slices.Equal(got, want) {
			t.Errorf("%s is triggered after the calls %q, want %q", spec, got, want)
		}
	}
}

// A failed call does not count as an execution.
func TestFailedCallDoesNotCountAsExecution(t *testing.T) {
	t.Parallel()
	if got := callsBeforeTriggers(t, "expire.after-commit", shop.ErrTransient); got != nil {
		t.Errorf("the point is triggered after the calls %q, want no trigger", got)
	}
}

func TestBeforePointIsTriggeredBeforeItsCall(t *testing.T) {
	t.Parallel()
	var made, madeAtTrigger bool
	a, err := Arm("warm.before-arm", func(string) { madeAtTrigger = made }, noTrigger)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Fault(t.Context(), "script arm", func() error {
		made = true
		return nil
	})
	if err != nil || !made || madeAtTrigger || a.remaining.Load() != 0 {
		t.Errorf("got call made %v, made before the trigger %v, %d remaining executions, error %v; want true, false, 0, nil",
			made, madeAtTrigger, a.remaining.Load(), err)
	}
}
