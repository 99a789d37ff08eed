package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"stampede/app"
	"stampede/app/store"
)

func ids(all []app.Order) []app.ID {
	out := make([]app.ID, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}

// P5, I5: only pending orders whose deadline has come expire, and asking again gives nothing back twice.
func TestExpireOnlyWhatIsDue(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100, 100)
		due, late, cancelled := h.order(h.sales[0], 2), h.order(h.sales[0], 1), h.order(h.sales[0], 1)
		elsewhere, opened, refused := h.order(h.sales[1], 1), h.order(h.sales[1], 1), h.order(h.sales[1], 1)
		late.PayBy = payBy + 1
		refused.State = app.Refused
		opened.TradeOpened = payBy - 10
		h.insert(due, late, cancelled, refused, elsewhere, opened)
		_, err := h.Cancel(h.ctx, cancelled.ID, cancelled.User, payBy-1)
		h.must(err)
		asked := []app.ID{opened.ID, elsewhere.ID, refused.ID, cancelled.ID, late.ID, due.ID, due.ID, 4242}
		for round := range 2 {
			got, err := h.Expire(h.ctx, asked, payBy)
			h.must(err)
			states := make(map[app.ID]app.OrderState)
			for _, o := range got {
				states[o.ID] = o.State
				if diff := cmp.Diff(o, h.read(o.ID), asRow); diff != "" {
					t.Errorf("round %d, order %s (-answer +row):\n%s", round, o.ID, diff)
				}
			}
			want := map[app.ID]app.OrderState{
				due.ID: app.Expired, late.ID: app.Pending, cancelled.ID: app.Cancelled, refused.ID: app.Refused,
				elsewhere.ID: app.Expired, opened.ID: app.Pending,
			}
			if diff := cmp.Diff(want, states); diff != "" {
				t.Errorf("round %d (-want +got):\n%s", round, diff)
			}
			h.wantTaken(h.sales[0], 1)
			h.wantTaken(h.sales[1], 1)
		}
		if o := h.read(due.ID); o.Rev != 2 || o.CancelledAt != payBy || o.PayBy != payBy {
			t.Errorf("rev %d, ended at %d, pay_by %d", o.Rev, o.CancelledAt, o.PayBy)
		}
	})
}

// P5: ten thousand equal deadlines expire in batches, well within the second that the promise allows.
func TestExpireTenThousandAtOnce(t *testing.T) {
	t.Parallel()
	const n = 10_000
	h := newShop(t, onMariaDB(t), n)
	all := h.orders(n, h.sales[0], 1)
	for some := range slices.Chunk(all, 1000) {
		h.insert(some...)
	}
	started := time.Now()
	got, err := h.Expire(h.ctx, ids(all), payBy)
	h.must(err)
	t.Logf("%d orders expired in %v", len(got), time.Since(started))
	for _, o := range got {
		if o.State != app.Expired {
			t.Fatalf("order %s is %s", o.ID, o.State)
		}
	}
	if len(got) != n {
		t.Errorf("%d rows answered", len(got))
	}
	h.wantTaken(h.sales[0], 0)
}

// I1, I5: a buyer who cancels while the order expires: one of them wins and the unit comes back once.
func TestCancelAgainstExpire(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100)
		for range 20 {
			o := h.order(h.sales[0], 2)
			h.insert(o)
			var g errgroup.Group
			for range 2 {
				g.Go(func() error { _, err := h.Cancel(h.ctx, o.ID, o.User, payBy); return err })
				g.Go(func() error { _, err := h.Expire(h.ctx, []app.ID{o.ID}, payBy); return err })
			}
			h.must(g.Wait())
			if row := h.read(o.ID); row.Rev != 2 || (row.State != app.Cancelled && row.State != app.Expired) {
				t.Fatalf("%s, rev %d", row.State, row.Rev)
			}
			h.wantTaken(h.sales[0], 0)
		}
	})
}

func TestCancelIsForTheBuyerAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		o := h.order(h.sales[0], 2)
		h.insert(o)
		for _, c := range []struct{ order, user app.ID }{{o.ID, o.User + 1}, {o.ID + 1_000_000, o.User}} {
			if _, err := h.Cancel(h.ctx, c.order, c.user, payBy); !errors.Is(err, app.ErrNoRow) {
				t.Errorf("order %s, user %s: %v", c.order, c.user, err)
			}
		}
		h.wantTaken(h.sales[0], 2)
		for range 2 {
			got, err := h.Cancel(h.ctx, o.ID, o.User, payBy-5)
			h.must(err)
			if got.State != app.Cancelled || got.CancelledAt != payBy-5 || got.Rev != 2 {
				t.Errorf("%s at %d, rev %d", got.State, got.CancelledAt, got.Rev)
			}
		}
		h.wantTaken(h.sales[0], 0)
	})
}

// I3: a refused order is revived only under the hold number that was claimed for it, and only while units
// are free.
func TestReviveNeedsItsClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 3)
		o := h.order(h.sales[0], 2)
		o.State, o.Reason, o.PayBy = app.Refused, app.ReasonDead, 0
		h.insert(o)
		if _, err := h.ClaimHold(h.ctx, o.ID, app.Pending); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("claimed in a state that it is not in: %v", err)
		}
		claimed, err := h.ClaimHold(h.ctx, o.ID, app.Refused)
		h.must(err)
		if claimed.Hold != 2 || h.read(o.ID).Hold != 2 {
			t.Errorf("hold %d", claimed.Hold)
		}
		if _, err := h.Revive(h.ctx, o, h.epoch, payBy); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("revived under an old hold: %v", err)
		}
		blocker := h.order(h.sales[0], 2)
		h.insert(blocker)
		if _, err := h.Revive(h.ctx, claimed, h.epoch, payBy); !errors.Is(err, app.ErrPermanent) {
			t.Errorf("revived without a unit: %v", err)
		}
		if row := h.read(o.ID); row.State != app.Refused {
			t.Errorf("it is %s after a failure", row.State)
		}
		_, err = h.Cancel(h.ctx, blocker.ID, blocker.User, opens)
		h.must(err)
		if _, err := h.Revive(h.ctx, claimed, h.epoch-1, payBy); !errors.Is(err, app.ErrStaleEpoch) {
			t.Errorf("revived at another epoch: %v", err)
		}
		if row := h.read(o.ID); row.State != app.Refused {
			t.Errorf("it is %s after a failure", row.State)
		}
		claimed.Address = &app.Address{Name: "A", Phone: "1", Text: "Road 1"} // what the refused row could not store
		got, err := h.Revive(h.ctx, claimed, h.epoch, payBy+7)
		h.must(err)
		if diff := cmp.Diff(got, h.read(o.ID), asRow); diff != "" {
			t.Errorf("(-answer +row):\n%s", diff)
		}
		if got.State != app.Pending || got.PayBy != payBy+7 || got.Rev != 2 || got.Reason != "" || got.Address == nil {
			t.Errorf("%+v", got)
		}
		h.wantTaken(h.sales[0], 2)
		if _, err := h.Revive(h.ctx, claimed, h.epoch, payBy); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("revived twice: %v", err)
		}
	})
}

// P5: what is due in other sales ends although somebody keeps the row of one sale locked; its own orders are answered
// as they are, and end later.
func TestExpireGoesOnWithoutALockedSale(t *testing.T) {
	t.Parallel()
	h := newShop(t, onMariaDB(t), 2000, 2000)
	stuck, other := h.orders(700, h.sales[0], 1), h.orders(700, h.sales[1], 1)
	all := append(append([]app.Order{}, stuck...), other...)
	h.insert(all...)
	tx, err := h.DB().BeginTx(h.ctx, nil)
	h.must(err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(h.ctx, "SELECT id FROM sales WHERE id = ? FOR UPDATE", h.sales[0])
	h.must(err)
	began := time.Now()
	got, err := h.Expire(h.ctx, ids(all), payBy)
	h.must(err)
	t.Logf("three batches beside a locked sale took %v", time.Since(began))
	states := make(map[app.ID]map[app.OrderState]int)
	for _, o := range got {
		if states[o.Sale] == nil {
			states[o.Sale] = make(map[app.OrderState]int)
		}
		states[o.Sale][o.State]++
	}
	want := map[app.ID]map[app.OrderState]int{h.sales[0]: {app.Pending: 700}, h.sales[1]: {app.Expired: 700}}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.must(tx.Rollback())
	_, err = h.Expire(h.ctx, ids(all), payBy)
	h.must(err)
	h.wantTaken(h.sales[0], 0)
	h.wantTaken(h.sales[1], 0)
}
