package store_test

import (
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/snowflake"
	"stampede/app/store"
	"stampede/app/test/kit"
)

func leaseNode(t *testing.T, s *store.Store) *store.NodeLease {
	t.Helper()
	l := val(s.Nodes().LeaseNode(kit.Context(t)))(t)
	return l
}

func mintID(t *testing.T, l *store.NodeLease) shop.ID {
	t.Helper()
	id := val(l.Mint())(t)
	return id
}

// I10: processes that start concurrently get different node numbers.
func TestLeasedNodesDiffer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		leases := make([]*store.NodeLease, 12)
		var g errgroup.Group
		for i := range leases {
			g.Go(func() (err error) {
				leases[i], err = s.Nodes().LeaseNode(kit.Context(t))
				return err
			})
		}
		must(t, g.Wait())
		seen := make(map[int]bool)
		for _, l := range leases {
			if seen[l.Node()] || snowflake.Node(mintID(t, l)) != l.Node() {
				t.Errorf("node number %d was leased twice, or its ids do not contain it", l.Node())
			}
			seen[l.Node()] = true
		}
	})
}

// I10: the next process gets a released number, and its ids are above all earlier ones.
func TestReleasedNodeIsLeasedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		first := leaseNode(t, s)
		for range 3 {
			must(t, first.RunOnce(ctx))
		}
		highest := mintID(t, first)
		must(t, first.Release(ctx))
		if id, err := first.Mint(); !errors.Is(err, snowflake.ErrNoGrant) {
			t.Errorf("minted %s after the release (%v)", id, err)
		}
		second := leaseNode(t, s)
		if second.Node() != first.Node() {
			t.Errorf("second lease: got node number %d, want the released number %d", second.Node(), first.Node())
		}
		if id := mintID(t, second); id <= highest {
			t.Errorf("got id %s, want an id above %s", id, highest)
		}
	})
}

// I10: a lease ended unnoticed, and another process has the number. The first process takes a new number. The ids of
// the other process are above all ids that the first could mint.
func TestLostLeaseTakesNewNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		paused := leaseNode(t, s)
		node := paused.Node()
		must(t, errOf(s.DB().ExecContext(ctx, "UPDATE node_leases SET expires_at = 1 WHERE node = ?", node)))
		successor := leaseNode(t, s)
		if successor.Node() != node {
			t.Fatalf("successor: got node number %d, want %d", successor.Node(), node)
		}
		above := mintID(t, successor)
		for range 10_000 { // the paused process has not yet detected that it lost the lease
			if id := mintID(t, paused); id >= above {
				t.Fatalf("paused process: got id %s, want an id below %s", id, above)
			}
		}
		must(t, paused.RunOnce(ctx))
		if paused.Node() == node {
			t.Error("the paused process still uses the node number that it lost")
		}
		mintID(t, paused)
		if err := successor.RunOnce(ctx); err != nil || successor.Node() != node {
			t.Errorf("the successor also lost the node number: %v", err)
		}
	})
}

// Nodes that serve buyers are counted while they renew their lease. Other nodes with a number are not counted.
func TestServingNodesCountsRenewedLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		want := func(n int) {
			t.Helper()
			if got, err := s.Nodes().ServingNodes(ctx); err != nil || got != n {
				t.Errorf("got %d serving nodes, want %d (%v)", got, n, err)
			}
		}
		a, b, tool := leaseNode(t, s), leaseNode(t, s), leaseNode(t, s)
		want(0)
		must(t, a.Serve(ctx))
		must(t, b.Serve(ctx))
		must(t, tool.RunOnce(ctx))
		want(2)
		must(t, b.RunOnce(ctx))
		want(2)
		must(t, a.Release(ctx))
		want(1)
		// b stalls: its lease would last nine more minutes.
		_, err := s.DB().ExecContext(ctx, "UPDATE node_leases SET expires_at = expires_at - 60000 WHERE serves = 1")
		must(t, err)
		want(0)
		must(t, b.RunOnce(ctx))
		want(1)
		next := leaseNode(t, s) // takes the number of a
		want(1)
		must(t, next.Release(ctx))
	})
}
