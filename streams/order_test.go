package streams

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P2, P3, I4: an entry is acknowledged, and places advance, only after its row is committed. While the handler works or
// fails, all entries are pending and nothing is done.
func TestEntryIsAcknowledgedAfterItsCommit(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(30)
		f.reserveMany(s, 5)
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		var pending, done int64
		handler := newFakeHandler()
		handler.fulfil = func(context.Context, []shop.Entry) ([]error, error) {
			pending, done = f.stats().Pending, f.counters(s).Done
			cancel() // the node ends before it writes anything
			return nil, fmt.Errorf("insert: %w", shop.ErrTransient)
		}
		c := f.consumer("node-1", handler)
		c.pendingCursor = ""
		if err := c.runOnce(ctx); err == nil {
			t.Fatal("a batch that was not written counts as handled")
		}
		if st := f.stats(); pending != 5 || done != 0 || st.Pending != 5 || f.counters(s).Done != 0 {
			t.Fatalf("got %d pending and %d done during the write, and %+v after its failure, want 5 pending and 0 done", pending, done, st)
		}
	})
}

// I7, P2: a missing group is created from the first entry. Entries that were not read before are delivered.
func TestMissingGroupStartsAtTheFirstEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(30)
		f.reserveMany(s, 3)
		f.must(f.client.XGroupDestroy(f.ctx, f.inventory.parts[1].keys.orders, group).Err())
		handler := newFakeHandler()
		f.run(f.consumer("node-1", handler))
		kit.Eventually(t, testTimeout, func() (bool, string) {
			c := f.counters(s)
			return c.Done == 3 && handler.count() == 3, fmt.Sprintf("%d orders have rows, %+v", handler.count(), c)
		})
	})
}

// I7: absent is not empty, so no key of a sale may expire, for every script as the last writer.
func TestNoKeyOfASaleExpires(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(30)
		made := f.reserveMany(s, 5)
		handler := newFakeHandler()
		var tries atomic.Int64
		handler.outcome = func(shop.Entry) error {
			if tries.Add(1) == 1 {
				return shop.ErrPermanent // leaves a failure count
			}
			return nil
		}
		c := f.consumer("node-1", handler)
		c.pendingCursor = ""
		f.must(c.runOnce(f.ctx))
		f.wantReturn([]shop.Return{{Sale: s.Ref(), Order: made[1].Order, Hold: 1, User: 5001}}, true)
		_, err := f.stock().Hold(f.ctx, shop.HoldRequest{
			Sale: s.Ref(), Order: made[1].Order, User: 5001, Hold: 2, Qty: 1,
		})
		f.must(err)
		f.must(f.queue().Schedule(f.ctx, 1, []shop.Deadline{{Order: made[2].Order, PayBy: f.now()}}))
		k := &f.inventory.parts[1].keys
		for _, key := range []string{
			k.meta, k.orders, k.waiting, k.attempts, k.deadlines, k.sale(s.ID), k.buyers(s.ID), k.open(s.ID),
		} {
			ttl, err := f.client.TTL(f.ctx, key).Result()
			f.must(err)
			if ttl != -1 { // -2: the key does not exist
				t.Errorf("%s has a TTL of %v, want none", key, ttl)
			}
		}
	})
}
