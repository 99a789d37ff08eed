package store_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// Blocks are numbered and listed while they are in force. Each change raises the version that nodes poll.
func TestBlockChangesRaiseTheVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		version := func() int64 {
			t.Helper()
			v, err := s.Blocks().Version(ctx)
			must(t, err)
			return v.Changes
		}
		before := version()
		eve, err := s.Blocks().AddBlock(
			ctx, store.Block{Kind: store.BlockUser, Value: "7", Reason: "转售", CreatedBy: "ada"}, 0,
		)
		must(t, err)
		net, err := s.Blocks().AddBlock(ctx, store.Block{Kind: store.BlockNetwork, Value: "203.0.113.0/24"}, time.Hour)
		must(t, err)
		if version() != before+2 || net.ID != eve.ID+1 || net.Until != net.CreatedAt.Add(time.Hour) || eve.Until != 0 {
			t.Errorf("got version %d after version %d, and the blocks %+v and %+v", version(), before, eve, net)
		}
		listed := func(now shop.Millis) []store.Block {
			t.Helper()
			blocks, err := s.Blocks().Blocks(ctx, now)
			must(t, err)
			return blocks
		}
		wantEqual(t, "listed (-want +got)", []store.Block{eve, net}, listed(net.CreatedAt))
		wantEqual(t, "after one has ended (-want +got)", []store.Block{eve}, listed(net.Until))

		_, err = s.Blocks().AddBlock(ctx, store.Block{Kind: store.BlockUser, Value: "7"}, 0)
		if !errors.Is(err, &shop.Error{Code: shop.Conflict}) || version() != before+2 {
			t.Errorf("a block that exists: got error %v and version %d, want Conflict", err, version())
		}
		if removed, err := s.Blocks().RemoveBlock(ctx, eve.ID); err != nil || removed != eve {
			t.Errorf("RemoveBlock: got %+v (%v), want %+v", removed, err, eve)
		}
		wantErr(t, "removed twice", errOf(s.Blocks().RemoveBlock(ctx, eve.ID)), &shop.Error{Code: shop.NotFound})
		if version() != before+3 || len(listed(net.CreatedAt)) != 1 {
			t.Errorf("after the removal: got version %d and %d blocks", version(), len(listed(net.CreatedAt)))
		}
		again, err := s.Blocks().AddBlock(ctx, store.Block{Kind: store.BlockUser, Value: "7"}, 0)
		if err != nil || again.ID != net.ID+1 {
			t.Errorf("block the user again: got %+v (%v), want the id %v", again, err, net.ID+1)
		}
	})
}

// Concurrent blocks get different numbers. Of concurrent equal blocks only one succeeds.
func TestConcurrentEqualBlocksConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		const users = 8
		var g errgroup.Group
		conflicts := make(chan struct{}, 2*users)
		for i := range 2 * users {
			g.Go(func() error {
				_, err := s.Blocks().AddBlock(
					ctx, store.Block{Kind: store.BlockUser, Value: shop.ID(1 + i%users).String()}, 0,
				)
				if errors.Is(err, &shop.Error{Code: shop.Conflict}) {
					conflicts <- struct{}{}
					return nil
				}
				return err
			})
		}
		must(t, g.Wait())
		blocks := val(s.Blocks().Blocks(ctx, 0))(t)
		if len(blocks) != users || len(conflicts) != users {
			t.Errorf("got %d blocks and %d conflicts, want %d of each", len(blocks), len(conflicts), users)
		}
	})
}
