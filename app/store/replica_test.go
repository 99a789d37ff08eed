package store_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"stampede/app/store"
	"stampede/app/test/kit"
)

// replicated is a shop whose database has a replica.
type replicated struct {
	*testShop
	primary, server *kit.MariaDBServer
	replica         *store.Replica
}

func newReplicated(t *testing.T) *replicated {
	primary, server := kit.StartReplicated(t, false)
	dsn := primary.Database()
	h := newShop(t, migrated(t, openMySQL(t, dsn)), 1000)
	cfg := val(mysql.ParseDSN(dsn))(h.t)
	return &replicated{h, primary, server, h.openReplica(server.DSN + cfg.DBName)}
}

func (s *testShop) openReplica(dsn string) *store.Replica {
	r := store.OpenReplica(s.Store, dsn, "")
	s.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			s.t.Errorf("close: %v", err)
		}
	})
	return r
}

// wantNewOrder inserts an order and expects it in the list and the sum of its sale at once.
func (s *testShop) wantNewOrder(r *store.Replica) {
	s.t.Helper()
	o := s.order(s.sales[0], 1)
	s.insert(o)
	page, _, err := r.FindOrders(s.ctx, store.OrderSearch{Sale: o.Sale, Limit: 5})
	s.must(err)
	if !slices.Contains(ids(page), o.ID) {
		s.t.Errorf("got the orders %v, want %v among them", ids(page), o.ID)
	}
	sums := val(r.SumSale(s.ctx, o.Sale, 0, opens))(s.t)
	want := val(s.SumSale(s.ctx, o.Sale, 0, opens))(s.t)
	if len(want.States) == 0 || !reflect.DeepEqual(sums, want) {
		s.t.Errorf("got the sums %+v, want those of the primary %+v", sums, want)
	}
}

// countReads counts the reads from the replica and from the primary.
func countReads(r *store.Replica, reading func()) (fromReplica, fromPrimary int64) {
	r0, p0 := r.Reads()
	reading()
	r1, p1 := r.Reads()
	return r1 - r0, p1 - p0
}

// A list or a sum from the replica contains everything committed before the call. A replica that is late, dead or
// promoted is not read; the primary is read instead. Searches by name or id use the primary.
func TestReplicaReturnsAllCommittedRows(t *testing.T) {
	t.Parallel()
	h := newReplicated(t)
	must(t, h.replica.Check(h.ctx))
	fromReplica, fromPrimary := countReads(h.replica, func() {
		for range 10 {
			h.wantNewOrder(h.replica)
		}
	})
	if fromReplica == 0 || fromReplica+fromPrimary != 20 {
		t.Errorf("got %d reads from the replica and %d from the primary, want 20 in total", fromReplica, fromPrimary)
	}
	h.wantNamedSearchesOnPrimary()

	h.server.StopApplying()
	h.wantOnlyPrimary(h.replica, "behind")
	h.server.Apply()
	h.wantReplicaReads("the replica has caught up")

	h.server.Kill()
	h.wantOnlyPrimary(h.replica, "dead")
	h.server.Start()
	h.wantReplicaReads("the replica is running again")

	h.server.Promote()
	h.insert(h.order(h.sales[0], 1))
	h.wantOnlyPrimary(h.replica, "promoted")
	h.wantOnlyPrimary(h.openReplica(h.primary.Database()), "an empty database of its primary")
}

// wantOnlyPrimary expects reads from the primary while the replica must not be read.
func (s *testShop) wantOnlyPrimary(r *store.Replica, why string) {
	s.t.Helper()
	fromReplica, fromPrimary := countReads(r, func() {
		started := time.Now()
		s.wantNewOrder(r)
		s.wantNewOrder(r)
		if took := time.Since(started); took > time.Minute {
			s.t.Errorf("%s: four reads took %v, which is too long", why, took)
		}
	})
	if fromReplica != 0 || fromPrimary != 4 {
		s.t.Errorf("%s: got %d reads from the replica and %d from the primary, want 0 and 4", why, fromReplica, fromPrimary)
	}
	if err := r.Check(s.ctx); err == nil {
		s.t.Errorf("%s: Check returned no error", why)
	}
}

func (r *replicated) wantReplicaReads(why string) {
	r.t.Helper()
	kit.Eventually(r.t, time.Minute, func() (bool, string) {
		fromReplica, _ := countReads(r.replica, func() { r.wantNewOrder(r.replica) })
		return fromReplica > 0, why + ", but it is not read"
	})
}

// wantNamedSearchesOnPrimary searches for an order, the payments of an order and a user by name, while the replica is
// available.
func (r *replicated) wantNamedSearchesOnPrimary() {
	r.t.Helper()
	o := r.paid(r.sales[0], 1)
	fromReplica, fromPrimary := countReads(r.replica, func() {
		page, _, err := r.replica.FindOrders(r.ctx, store.OrderSearch{ID: o.ID, Limit: 1})
		r.must(err)
		if len(page) != 1 {
			r.t.Errorf("got %d orders, want one", len(page))
		}
		_, _, err = r.replica.FindPayments(r.ctx, store.PaymentSearch{Order: o.ID, Limit: 1})
		r.must(err)
		_, _, err = r.replica.FindUsers(r.ctx, store.UserSearch{Name: "Ada", Limit: 1})
		r.must(err)
	})
	if fromReplica != 0 || fromPrimary != 0 {
		r.t.Errorf("got %d reads from the replica and %d replacements by the primary, want 0 and 0", fromReplica, fromPrimary)
	}
}
