package store_test

import (
	"errors"
	"testing"

	"stampede/app"
	"stampede/app/store"
)

// F3: until when new rows were told is known for each partition, moves forward only, and outlives a rebuild.
func TestToldUntilMovesForward(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 1)
		want := func(partition int, at app.Millis) {
			t.Helper()
			if got, err := h.ToldUntil(h.ctx, partition); err != nil || got != at {
				t.Errorf("partition %d: told until %d, %v; want %d", partition, got, err, at)
			}
		}
		want(0, 0)
		for _, at := range []app.Millis{opens, opens - 5, opens} {
			h.must(h.SetToldUntil(h.ctx, 1, at))
			want(1, opens)
		}
		h.must(h.SetToldUntil(h.ctx, 1, opens+7))
		_, err := h.AdvanceEpoch(h.ctx, 1, 0)
		h.must(err)
		h.must(h.EnsurePartitions(h.ctx, 2))
		want(1, opens+7)
		want(0, 0)
		if _, err := h.ToldUntil(h.ctx, 9); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("no such partition: %v", err)
		}
		if err := h.SetToldUntil(h.ctx, 9, opens); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("no such partition: %v", err)
		}
	})
}
