package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/store"
)

func ids(all []shop.Order) []shop.ID {
	out := make([]shop.ID, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}

// P5, I5: only pending orders that are due expire. A repeat returns no units twice.
func TestExpireEndsOnlyDueOrders(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		due, late, cancelled := h.order(h.sales[0], 2), h.order(h.sales[0], 1), h.order(h.sales[0], 1)
		elsewhere, opened, refused := h.order(h.sales[1], 1), h.order(h.sales[1], 1), h.order(h.sales[1], 1)
		late.PayBy = payBy + 1
		refused.State = shop.Refused
		opened.TradeOpened = payBy - 10
		h.insert(due, late, cancelled, refused, elsewhere, opened)
		h.must(errOf(h.Cancel(h.ctx, cancelled.ID, cancelled.User, payBy-1)))
		requested := []shop.ID{opened.ID, elsewhere.ID, refused.ID, cancelled.ID, late.ID, due.ID, due.ID, 4242}
		for round := range 2 {
			got := val(h.Expire(h.ctx, requested, payBy))(h.t)
			states := make(map[shop.ID]shop.OrderState)
			for _, o := range got {
				states[o.ID] = o.State
				if diff := cmp.Diff(o, h.read(o.ID), ignoreTouched); diff != "" {
					t.Errorf("round %d, order %s (-result +row):\n%s", round, o.ID, diff)
				}
			}
			want := map[shop.ID]shop.OrderState{
				due.ID: shop.Expired, late.ID: shop.Pending, cancelled.ID: shop.Cancelled, refused.ID: shop.Refused,
				elsewhere.ID: shop.Expired, opened.ID: shop.Pending,
			}
			if diff := cmp.Diff(want, states); diff != "" {
				t.Errorf("round %d (-want +got):\n%s", round, diff)
			}
			h.wantTaken(h.sales[0], 1)
			h.wantTaken(h.sales[1], 1)
		}
		if o := h.read(due.ID); o.Rev != 2 || o.CancelledAt != payBy || o.PayBy != payBy {
			t.Errorf("got rev %d, cancelled_at %d and pay_by %d, want rev 2", o.Rev, o.CancelledAt, o.PayBy)
		}
	}, 100, 100)
}

// I1, I5: a buyer cancels while the order expires. Either the cancellation or the expiry changes the order, and the
// units return once.
func TestCancelAndExpireReturnUnitsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100)
		for range 8 {
			o := h.order(h.sales[0], 2)
			h.insert(o)
			var g errgroup.Group
			for range 2 {
				g.Go(func() error { _, err := h.Cancel(h.ctx, o.ID, o.User, payBy); return err })
				g.Go(func() error { _, err := h.Expire(h.ctx, []shop.ID{o.ID}, payBy); return err })
			}
			h.must(g.Wait())
			if row := h.read(o.ID); row.Rev != 2 || (row.State != shop.Cancelled && row.State != shop.Expired) {
				t.Fatalf("got the order %s at rev %d, want it ended once", row.State, row.Rev)
			}
			h.wantTaken(h.sales[0], 0)
		}
	})
}

func TestOnlyTheBuyerCancels(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		o := h.order(h.sales[0], 2)
		h.insert(o)
		for _, c := range []struct{ order, user shop.ID }{{o.ID, o.User + 1}, {o.ID + 1_000_000, o.User}} {
			if _, err := h.Cancel(h.ctx, c.order, c.user, payBy); !errors.Is(err, shop.ErrNoRow) {
				t.Errorf("order %s, user %s: got error %v, want ErrNoRow", c.order, c.user, err)
			}
		}
		h.wantTaken(h.sales[0], 2)
		for range 2 {
			got := val(h.Cancel(h.ctx, o.ID, o.User, payBy-5))(h.t)
			if got.State != shop.Cancelled || got.CancelledAt != payBy-5 || got.Rev != 2 {
				t.Errorf("got the order %s at %d with rev %d, want it cancelled once",
					got.State, got.CancelledAt, got.Rev)
			}
		}
		h.wantTaken(h.sales[0], 0)
	})
}

// I3: a refused order is revived only under its claimed hold number, and only while units are free.
func TestReviveRequiresTheClaimedHold(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.order(h.sales[0], 2)
		o.State, o.Reason, o.PayBy = shop.Refused, shop.ReasonDead, 0
		h.insert(o)
		wantErr(t, "claimed in another state", errOf(h.ClaimHold(h.ctx, o.ID, shop.Pending)), shop.ErrNoRow)
		claimed := val(h.ClaimHold(h.ctx, o.ID, shop.Refused))(h.t)
		if claimed.Hold != 2 || h.read(o.ID).Hold != 2 {
			t.Errorf("got hold %d, want 2", claimed.Hold)
		}
		wantErr(t, "revived under an old hold", errOf(h.Revive(h.ctx, o, h.epoch, opens+20, payBy)), shop.ErrNoRow)
		blocker := h.order(h.sales[0], 2)
		h.insert(blocker)
		wantErr(t, "revived without a unit", errOf(h.Revive(h.ctx, claimed, h.epoch, opens+20, payBy)), shop.ErrPermanent)
		if row := h.read(o.ID); row.State != shop.Refused {
			t.Errorf("the order is %s after a failed revival, want refused", row.State)
		}
		h.must(errOf(h.Cancel(h.ctx, blocker.ID, blocker.User, opens)))
		wantErr(t, "revived at another epoch", errOf(h.Revive(h.ctx, claimed, h.epoch-1, opens+20, payBy)),
			shop.ErrStaleEpoch)
		if row := h.read(o.ID); row.State != shop.Refused {
			t.Errorf("the order is %s after a failed revival, want refused", row.State)
		}
		claimed.Address = &shop.Address{Name: "A", Phone: "1", Text: "Road 1"} // missing in the refused row
		got := val(h.Revive(h.ctx, claimed, h.epoch, opens+20, payBy+7))(h.t)
		wantEqual(t, "(-result +row)", got, h.read(o.ID), ignoreTouched)
		if got.State != shop.Pending || got.PayBy != payBy+7 || got.Rev != 2 || got.Reason != "" || got.Address == nil {
			t.Errorf("Revive: got %+v, want a pending order with the address", got)
		}
		h.wantTaken(h.sales[0], 2)
		wantErr(t, "revived twice", errOf(h.Revive(h.ctx, claimed, h.epoch, opens+20, payBy)), shop.ErrNoRow)
	}, 3)
}

// P5: orders end although the row of another sale is locked. Orders of the locked sale are returned unchanged, and end
// later.
func TestLockedSaleDoesNotBlockOtherOrders(t *testing.T) {
	t.Parallel()
	h := newShop(t, onMariaDB(t), 4000, 4000)
	for name, end := range map[string]func(all []shop.ID) ([]shop.Order, error){
		"no payment": func(all []shop.ID) ([]shop.Order, error) { return h.Expire(h.ctx, all, payBy) },
		"payments":   func(all []shop.ID) ([]shop.Order, error) { return h.EndTraded(h.ctx, all, shop.Expired, payBy) },
	} {
		stuck, other := h.orders(700, h.sales[0], 1), h.orders(700, h.sales[1], 1)
		all := append(append([]shop.Order{}, stuck...), other...)
		h.insert(all...)
		tx := val(h.DB().BeginTx(h.ctx, nil))(h.t)
		defer func() { _ = tx.Rollback() }()
		h.must(errOf(tx.ExecContext(h.ctx, "SELECT id FROM sales WHERE id = ? FOR UPDATE", h.sales[0])))
		began := time.Now()
		got := val(end(ids(all)))(h.t)
		t.Logf("%s: three batches took %v while a sale was locked", name, time.Since(began))
		states := make(map[shop.ID]map[shop.OrderState]int)
		for _, o := range got {
			if states[o.Sale] == nil {
				states[o.Sale] = make(map[shop.OrderState]int)
			}
			states[o.Sale][o.State]++
		}
		want := map[shop.ID]map[shop.OrderState]int{h.sales[0]: {shop.Pending: 700}, h.sales[1]: {shop.Expired: 700}}
		wantEqual(t, name+" (-want +got)", want, states)
		h.must(tx.Rollback())
		h.must(errOf(end(ids(all))))
		h.wantTaken(h.sales[0], 0)
		h.wantTaken(h.sales[1], 0)
	}
}
