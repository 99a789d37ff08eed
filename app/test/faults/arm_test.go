package faults

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stampede/app/order"
	"stampede/app/ports"
	"stampede/app/shop"
)

func never(string) { panic("nothing strikes here") }

// smallShop has one order, which ends when somebody asks for it, and takes its units back.
type smallShop struct {
	ports.Inventory
	ports.OrderStore
	steps []string
	err   error
}

func (s *smallShop) did(step string) error {
	s.steps = append(s.steps, step)
	return s.err
}

func (s *smallShop) Now(context.Context) (shop.Millis, error) { return 1, nil }

func (s *smallShop) Return(context.Context, []shop.Return) ([]bool, error) {
	return []bool{true}, s.did("return")
}

func (s *smallShop) Expire(context.Context, []shop.ID, shop.Millis) ([]shop.Order, error) {
	return []shop.Order{{ID: 1, State: shop.Expired, Rev: 2, Stamped: true}}, s.did("expire")
}

func (s *smallShop) Cancel(context.Context, shop.ID, shop.ID, shop.Millis) (shop.Order, error) {
	return shop.Order{ID: 1, State: shop.Cancelled, Rev: 2, Stamped: true}, s.did("cancel")
}

func (s *smallShop) Publish(context.Context, int, shop.Millis, []*shop.Order) error {
	return s.did("tell")
}

// strikesIn arms a point and returns what an expirer had done each time that it struck, while its deadline comes, its
// buyer cancels it, and its deadline comes again.
func (s *smallShop) strikesIn(t *testing.T, spec string) []string {
	t.Helper()
	var strikes []string
	a, err := Arm(spec, func(string) { strikes = append(strikes, strings.Join(s.steps, " ")) }, never)
	if err != nil {
		t.Fatal(err)
	}
	inventory, orders := Inventory(s, a.Fault), Orders(s, a.Fault)
	x := &order.Expirer{Inventory: inventory, Orders: orders, Effects: &order.Effects{
		Inventory: inventory, Notifier: Notifier(s, a.Fault), Orders: orders, Told: &order.Told{Orders: orders},
	}}
	ctx := t.Context()
	_, _ = x.Due(ctx, 0, []shop.ID{1})
	_, _ = x.Cancel(ctx, 2, 1)
	_, _ = x.Due(ctx, 0, []shop.ID{1})
	return strikes
}

// A point is passed on its side of the call, in its flow only, and strikes once, at the pass that was asked for.
func TestStrikesAtItsPlaceAndPass(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][]string{
		"expire.after-commit":   {"expire"},
		"expire.after-return":   {"expire return"},
		"expire.after-tell":     {"expire return tell"},
		"expire.after-return#2": {"expire return tell cancel return tell expire return"},
		"expire.after-return#3": nil,
		"cancel.after-commit":   {"expire return tell cancel"},
		"effects.after-units":   {"expire return tell cancel return"},
		"effects.after-tell":    {"expire return tell cancel return tell"},
		"late.after-sell":       nil,
		"close.after-return":    nil,
	} {
		if got := new(smallShop).strikesIn(t, spec); !slices.Equal(got, want) {
			t.Errorf("%s strikes after %q, want %q", spec, got, want)
		}
	}
}

// What has failed has not happened: after it there is no pass.
func TestFailedCallIsNoPass(t *testing.T) {
	t.Parallel()
	s := &smallShop{err: shop.ErrTransient}
	if got := s.strikesIn(t, "expire.after-commit"); got != nil {
		t.Errorf("strikes after %q", got)
	}
}

func TestBeforeIsBefore(t *testing.T) {
	t.Parallel()
	var made, madeAtStrike bool
	a, err := Arm("warm.before-arm", func(string) { madeAtStrike = made }, never)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Fault(t.Context(), "Inventory.Arm", func() error {
		made = true
		return nil
	})
	if err != nil || !made || madeAtStrike || a.left.Load() != 0 {
		t.Errorf("made %v, before the strike %v, %d passes left, %v", made, madeAtStrike, a.left.Load(), err)
	}
}
