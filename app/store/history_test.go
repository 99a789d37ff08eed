package store_test

import (
	"errors"
	"testing"

	"stampede/app/shop"
	"stampede/app/snowflake"
	"stampede/app/store"
)

// I8: the beat belongs to one history. A generation starts once, on the server that responds, and raises every epoch.
func TestGenerationStartsOnceAndRaisesEpochs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 5)
		first := val(h.History.Read(h.ctx))(h.t)
		if first.Server == "" || first.RecoveredServer != first.Server || first.Generation != 0 ||
			first.UnfitReason != "" || !first.Single {
			t.Fatalf("got the history %+v, want generation 0 of this server", first)
		}
		if next := val(h.RaiseBeat(h.ctx, first, 0))(h.t); next.Beat != first.Beat+1 {
			t.Errorf("got beat %d after beat %d, want %v", next.Beat, first.Beat, first.Beat+1)
		}
		_, err := h.DB().ExecContext(h.ctx, "UPDATE history SET server = '0badcafe'")
		h.must(err)
		wantErr(t, "a beat of another server", errOf(h.RaiseBeat(h.ctx, first, 0)), shop.ErrStaleEpoch)
		read := val(h.History.Read(h.ctx))(h.t)
		h.must(h.NewGeneration(h.ctx, read, 7, map[int]int64{0: 40}, 0))
		wantErr(t, "the same generation again", h.NewGeneration(h.ctx, read, 7, nil, 0), shop.ErrStaleEpoch)
		now := val(h.History.Read(h.ctx))(h.t)
		if now.Generation != 8 || now.RecoveredServer != now.Server || now.RecoveredServer != first.Server {
			t.Errorf("got the history %+v, want generation 8 of this server", now)
		}
		epoch, _, err := h.PartitionEpoch(h.ctx, 0)
		if sale := val(h.Sale(h.ctx, h.sales[0]))(h.t); err != nil || epoch != 41 || sale.Epoch != 41 {
			t.Errorf("got epoch %d of the partition and %d of the sale (%v), want 41", epoch, sale.Epoch, err)
		}
	})
}

// P1, P8, P6: pending orders are watched once. Orders without a hold end with a rev that was never published. Units are
// written off under the current epoch, at most the free ones.
func TestRecoveryEndsLostOrdersAndWritesOffFreeUnits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 5)
		due, young, again := h.order(h.sales[0], 1), h.order(h.sales[0], 1), h.order(h.sales[0], 1)
		due.PayBy, young.PayBy, again.PayBy, again.Hold = 1000, 9000, 1000, 2
		h.insert(due, young, again)
		for _, want := range []int{3, 0} {
			if n := val(h.WatchPayments(h.ctx, shop.PaymentWatch{Now: 500}))(h.t); n != want {
				t.Errorf("WatchPayments: got %d orders, want %d", n, want)
			}
		}
		s.History().Trust(val(h.History.Read(h.ctx))(h.t).Server, 2)
		rows := val(h.EndLost(h.ctx, []shop.ID{due.ID, young.ID, again.ID}, 2000))(h.t)
		for i, want := range []shop.OrderState{shop.Expired, shop.Cancelled, shop.Pending} {
			if o := rows[i]; o.State != want || (o.Reason == shop.ReasonRecovered) != (want != shop.Pending) ||
				o.State != shop.Pending && o.Rev != 2<<18+1 {
				t.Errorf("order %d: got state %s (%s) and rev %d, want state %s", i, o.State, o.Reason, o.Rev, want)
			}
			if read := val(h.Order(h.ctx, rows[i].ID))(h.t); read.Rev != rows[i].Rev || read.Reason != rows[i].Reason {
				t.Errorf("order %d: EndLost returned rev %d, its row has rev %d", i, rows[i].Rev, read.Rev)
			}
		}
		h.must(h.WriteOff(h.ctx, h.sales[0], 3, h.epoch))
		wantErr(t, "more units than are free", h.WriteOff(h.ctx, h.sales[0], 2, h.epoch), shop.ErrStaleEpoch)
		wantErr(t, "under another epoch", h.WriteOff(h.ctx, h.sales[0], 1, h.epoch+1), shop.ErrStaleEpoch)
		if free := val(h.FreeUnits(h.ctx, h.sales))(h.t); free[h.sales[0]] != 1 {
			t.Errorf("%d units are free, want 1", free[h.sales[0]])
		}
	})
}

// P2, P8: once a server is trusted, no statement reaches another one, neither on a new connection nor on an open one. A
// recovery may use any server.
func TestFenceAdmitsOneServer(t *testing.T) {
	t.Parallel()
	s := onMariaDB(t)
	h := newShop(t, s, 1)
	server := val(h.History.Read(h.ctx))(h.t).Server
	raw := s.ForRecovery()
	t.Cleanup(func() { _ = raw.Close() })
	for range 2 {
		s.History().Trust("0badcafe", 1)
		wantErr(t, "a statement", errOf(h.Sale(h.ctx, h.sales[0])), shop.ErrTransient)
		if _, err := raw.Sales().Sale(h.ctx, h.sales[0]); err != nil {
			t.Errorf("a read of the recovery: got error %v", err)
		}
		s.History().Trust(server, 1)
		if _, err := h.Sale(h.ctx, h.sales[0]); err != nil {
			t.Errorf("a read on the trusted server: got error %v", err)
		}
	}
}

// I10: a promoted database has lost a lease, and another process has its number. Under the new history neither mints
// before it has renewed its lease. Then their numbers differ.
func TestLeaseOfAnotherHistoryMintsNothing(t *testing.T) {
	t.Parallel()
	s := onMariaDB(t)
	h := newShop(t, s, 1)
	before := val(s.Nodes().LeaseNode(h.ctx))(h.t)
	_, err := h.DB().ExecContext(h.ctx, "DELETE FROM node_leases")
	h.must(err)
	other := val(s.Nodes().LeaseNode(h.ctx))(h.t)
	if before.Node() != other.Node() {
		t.Fatalf("got node numbers %d and %d, want equal numbers after the lost lease", before.Node(), other.Node())
	}
	s.History().Trust(val(h.History.Read(h.ctx))(h.t).Server, 1)
	for _, l := range []*store.NodeLease{before, other} {
		if _, err := l.Mint(); !errors.Is(err, snowflake.ErrNoGrant) {
			t.Errorf("Mint under a lease of another history: got error %v, want ErrNoGrant", err)
		}
	}
	h.must(other.RunOnce(h.ctx))
	h.must(before.RunOnce(h.ctx))
	if _, err := before.Mint(); err != nil || before.Node() == other.Node() {
		t.Errorf("after the renewals: got node numbers %d and %d (%v), want different numbers",
			before.Node(), other.Node(), err)
	}
}
