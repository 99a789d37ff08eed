package faults

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stampede/app/order"
	"stampede/app/shop"
)

func noStrike(string) { panic("no fault strikes here") }

// strikesIn returns the calls made before each strike. An expirer handles the deadline of an order, its cancellation
// and its deadline again.
func strikesIn(t *testing.T, spec string, callErr error) (strikes []string) {
	t.Helper()
	var calls []string
	a, err := Arm(spec, func(string) { strikes = append(strikes, strings.Join(calls, " ")) }, noStrike)
	if err != nil {
		t.Fatal(err)
	}
	x := &order.Expirer{Redis: acceptingRedis{}, Store: oneOrderStore{}, Effects: &order.Effects{
		Redis: acceptingRedis{}, Notifier: acceptingRedis{}, Store: oneOrderStore{},
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
	return strikes
}

// oneOrderStore has one order. Expire and Cancel end it.
type oneOrderStore struct{ order.Store }

func (oneOrderStore) Expire(ctx context.Context, _ []shop.ID, _ shop.Millis) ([]shop.Order, error) {
	ended := shop.Order{ID: 1, State: shop.Expired, Rev: 2, Touched: true}
	return []shop.Order{ended}, OfContext(ctx, "Store.Expire", nil)
}

func (oneOrderStore) Cancel(ctx context.Context, _, _ shop.ID, _ shop.Millis) (shop.Order, error) {
	return shop.Order{ID: 1, State: shop.Cancelled, Rev: 2, Touched: true}, OfContext(ctx, "Store.Cancel", nil)
}

// acceptingRedis accepts returned units.
type acceptingRedis struct{ order.Redis }

func (acceptingRedis) Now(context.Context) (shop.Millis, error) { return 1, nil }

func (acceptingRedis) Return(ctx context.Context, _ []shop.Return) ([]bool, error) {
	return []bool{true}, OfContext(ctx, "script return", nil)
}

func (acceptingRedis) Publish(ctx context.Context, _ int, _ shop.Millis, _ []*shop.Order) error {
	return OfContext(ctx, "script publish", nil)
}

// A point strikes on its side of the call, only in its flow, and once, at the requested pass.
func TestPointStrikesOnceAtItsPlaceAndPass(t *testing.T) {
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
		if got := strikesIn(t, spec, nil); !slices.Equal(got, want) {
			t.Errorf("%s strikes after %q, want %q", spec, got, want)
		}
	}
}

// A failed call does not count as a pass.
func TestFailedCallDoesNotCountAsPass(t *testing.T) {
	t.Parallel()
	if got := strikesIn(t, "expire.after-commit", shop.ErrTransient); got != nil {
		t.Errorf("the point strikes after %q, want no strike", got)
	}
}

func TestBeforePointStrikesBeforeItsCall(t *testing.T) {
	t.Parallel()
	var made, madeAtStrike bool
	a, err := Arm("warm.before-arm", func(string) { madeAtStrike = made }, noStrike)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Fault(t.Context(), "script arm", func() error {
		made = true
		return nil
	})
	if err != nil || !made || madeAtStrike || a.remaining.Load() != 0 {
		t.Errorf("the call was made: %v, before the strike: %v; %d passes left, %v", made, madeAtStrike, a.remaining.Load(), err)
	}
}
