package store_test

import (
	"testing"

	"stampede/app/shop"
)

// F3: PublishedUntil is kept per partition, moves forward only, and survives a recovery.
func TestPublishedUntilMovesForward(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		want := func(partition int, at shop.Millis) {
			t.Helper()
			if got, err := h.PublishedUntil(h.ctx, partition); err != nil || got != at {
				t.Errorf("partition %d: got the publish mark %d (%v), want %d", partition, got, err, at)
			}
		}
		want(0, 0)
		for _, at := range []shop.Millis{opens, opens - 5, opens} {
			h.must(h.SetPublishedUntil(h.ctx, 1, at))
			want(1, opens)
		}
		h.must(h.SetPublishedUntil(h.ctx, 1, opens+7))
		h.must(errOf(h.AdvanceEpoch(h.ctx, 1, 0)))
		h.must(h.EnsurePartitions(h.ctx, 2))
		want(1, opens+7)
		want(0, 0)
		wantErr(t, "no such partition", errOf(h.PublishedUntil(h.ctx, 9)), shop.ErrNoRow)
		wantErr(t, "no such partition", h.SetPublishedUntil(h.ctx, 9, opens), shop.ErrNoRow)
	}, 1)
}
