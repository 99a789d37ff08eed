package store_test

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// I7: a sale is marked loaded once per epoch. Another epoch of the sale or the partition is stale.
func TestSaleIsMarkedLoadedOncePerEpoch(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		h.must(h.MarkLoaded(h.ctx, h.sales[0], 1, 1)) // a repeat
		wantErr(t, "an epoch that the partition does not have",
			h.MarkLoaded(h.ctx, h.sales[0], 2, 1), shop.ErrStaleEpoch)
		wantErr(t, "an absent sale", h.MarkLoaded(h.ctx, 4242, 1, 1), shop.ErrNoRow)
		epoch := val(h.AdvanceEpoch(h.ctx, 0, 0))(h.t)
		wantErr(t, "the epoch before a rebuild", h.MarkLoaded(h.ctx, h.sales[0], 1, 1), shop.ErrStaleEpoch)
		if sale, err := h.Sale(h.ctx, h.sales[0]); err != nil || sale.Epoch != epoch {
			t.Errorf("got epoch %d of the sale (%v), want %d", sale.Epoch, err, epoch)
		}
	}, 10)
}

// I8: after the commit of the next epoch, no transaction of the old one takes a unit.
func TestAdvanceEpochFencesTheOldEpoch(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		var g errgroup.Group
		fenced := make(chan struct{})
		for range 4 {
			g.Go(func() error {
				for {
					_, err := h.Insert(h.ctx, 1, h.orders(5, h.sales[0], 1))
					if errors.Is(err, shop.ErrStaleEpoch) {
						return nil
					}
					if err != nil {
						return err
					}
				}
			})
		}
		var taken int64
		g.Go(func() error {
			defer close(fenced)
			epoch, err := h.AdvanceEpoch(h.ctx, 0, 4)
			if err == nil && epoch != 5 {
				t.Errorf("got epoch %d, want 1 + the epoch in Redis", epoch)
			}
			taken = h.totals(h.sales[0]).Taken
			return err
		})
		h.must(g.Wait())
		<-fenced
		h.wantTaken(h.sales[0], taken)
		if epoch, _, err := h.PartitionEpoch(h.ctx, 0); err != nil || epoch != 5 {
			t.Errorf("got epoch %d (%v), want 5", epoch, err)
		}
		if epoch, err := h.AdvanceEpoch(h.ctx, 0, 0); err != nil || epoch != 6 {
			t.Errorf("got epoch %d (%v), want 6", epoch, err)
		}
	}, 1000)
}

// A start with another number of partitions fails with a helpful message.
func TestEnsurePartitionsRejectsAnotherNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		var g errgroup.Group
		for range 4 { // several concurrent first starts
			g.Go(func() error { return s.Partitions().EnsurePartitions(ctx, 8) })
		}
		must(t, g.Wait())
		err := s.Partitions().EnsurePartitions(ctx, 4)
		if !errors.Is(err, store.ErrPartitions) || !strings.Contains(err.Error(), "STAMPEDE_PARTITIONS=8") {
			t.Errorf("got error %v, want ErrPartitions", err)
		}
		for _, n := range []int{0, -1, 1025} {
			if err := s.Partitions().EnsurePartitions(ctx, n); err == nil {
				t.Errorf("EnsurePartitions accepted %d partitions", n)
			}
		}
		_, _, err = s.Partitions().PartitionEpoch(ctx, 9)
		wantErr(t, "epoch of a missing partition", err, shop.ErrNoRow)
		if epoch, err := s.Partitions().AdvanceEpoch(ctx, 9, 0); err != nil || epoch != 2 {
			t.Errorf("a partition that was missing: got epoch %d (%v), want 2", epoch, err)
		}
		if epoch, seq, err := s.Partitions().PartitionEpoch(ctx, 7); err != nil || epoch != 1 || seq != 0 {
			t.Errorf("got epoch %d and seq %d (%v), want epoch 1 and seq 0", epoch, seq, err)
		}
	})
}

func TestLoadedSalesOmitsOtherSales(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		product := val(h.Sale(h.ctx, h.sales[0]))(h.t)
		unloaded := shop.Sale{ID: nextID(), Slot: h.slot, Product: product.Product, Initial: 5, Limit: 1, Cap: 1}
		h.must(h.AddSales(h.ctx, []shop.Sale{unloaded}))
		h.must(h.MarkRetired(h.ctx, h.sales[1], h.epoch))
		h.must(h.MarkRetired(h.ctx, h.sales[2], h.epoch-1)) // recovered since: it may be loaded again
		got := val(h.LoadedSales(h.ctx, 0))(h.t)
		if len(got) != 2 || got[0].ID != h.sales[0] || got[1].ID != h.sales[2] {
			t.Errorf("LoadedSales: got %d sales", len(got))
		}
		wantEqual(t, "(-read alone +read in the list)", product, got[0])
		for at, want := range map[shop.Millis]int{product.OpensAt: 1, product.ClosesAt.Add(48 * time.Hour): 0} {
			never := val(h.UnloadedSales(h.ctx, 0, at))(h.t)
			if len(never) != want || want > 0 && never[0].ID != unloaded.ID {
				t.Errorf("got %d unloaded sales at %d, want %d", len(never), at, want)
			}
		}
	}, 10, 20, 30)
}

// I8: the highest seq of a partition is kept when the sale that has it is retired, so that a recovery starts after it.
// Otherwise a node that has seen those numbers would report existing rows as lost.
func TestPartitionKeepsTheSeqOfARetiredSale(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		older, newest := h.order(h.sales[0], 1), h.order(h.sales[1], 1)
		h.insert(older, newest)
		want := func(when string) {
			t.Helper()
			if _, seq, err := h.PartitionEpoch(h.ctx, 0); err != nil || seq != newest.Seq {
				t.Errorf("%s: got seq %d (%v), want %d", when, seq, err, newest.Seq)
			}
		}
		want("before")
		h.must(h.MarkRetired(h.ctx, h.sales[1], h.epoch))
		want("retired,")
		h.must(h.MarkRetired(h.ctx, h.sales[1], h.epoch))
		h.must(h.MarkRetired(h.ctx, h.sales[0], h.epoch)) // an older one, and the last
		want("all retired,")
	}, 10, 20)
}

// P1, P4: SaleTotals returns the totals that the audit needs.
func TestSaleTotalsMatchTheRows(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100)
		overLimit := nextID()
		states := []shop.OrderState{shop.Pending, shop.Pending, shop.Cancelled, shop.Refused}
		rows := make([]shop.Order, len(states))
		for i, state := range states {
			rows[i] = h.order(h.sales[0], 2)
			rows[i].State, rows[i].User = state, overLimit
		}
		rows[1].Qty = 1
		h.insert(rows...)
		got := h.totals(h.sales[0])
		sale := val(h.Sale(h.ctx, h.sales[0]))(h.t)
		want := shop.SaleTotals{
			Sale: sale, Taken: 3, HeldUnits: 3, Orders: 4, MaxTicket: 4, MaxSeq: 4,
			OverLimit: []shop.ID{overLimit}, PendingRows: 2,
		}
		wantEqual(t, "(-want +got)", want, got)
		wantErr(t, "an absent sale", errOf(h.Store.Sales().SaleTotals(h.ctx, 4242)), shop.ErrNoRow)
	})
}

// P4: a buyer within a former higher limit is not over the limit after an operator lowers it. A buyer above every
// former limit is.
func TestLoweredLimitKeepsEarlierOrdersValid(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100) // two for each buyer
		h.insert(h.order(h.sales[0], 2))
		for _, limit := range []int{1, 4, 3} {
			r := val(h.SaleRecord(h.ctx, h.sales[0]))(h.t)
			r.Limit = limit
			h.must(h.SaveSales(h.ctx, r))
			if over := h.totals(h.sales[0]).OverLimit; len(over) != 0 {
				t.Errorf("limit %d: got buyers over the limit %v, want none", limit, over)
			}
		}
		overLimit := h.order(h.sales[0], 5)
		h.insert(h.order(h.sales[0], 4), overLimit)
		if over := h.totals(h.sales[0]).OverLimit; !slices.Equal(over, []shop.ID{overLimit.User}) {
			t.Errorf("got buyers over the highest limit, 4: %v, want %s", over, overLimit.User)
		}
	})
}

// I8: one recovery of a partition runs at a time. Other partitions continue, and a waiting caller can stop.
func TestLockPartitionAdmitsOneCaller(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		inside := make(chan struct{})
		leave := make(chan struct{})
		var g errgroup.Group
		g.Go(func() error {
			return s.Partitions().LockPartition(ctx, 1, func(context.Context) error {
				close(inside)
				<-leave
				return nil
			})
		})
		<-inside
		other := false
		err := s.Partitions().LockPartition(ctx, 2, func(context.Context) error { other = true; return nil })
		if err != nil || !other {
			t.Errorf("lock of another partition: got error %v", err)
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		err = s.Partitions().LockPartition(short, 1, func(context.Context) error { return errors.New("two recoveries at once") })
		if !errors.Is(err, shop.ErrTransient) {
			t.Errorf("a caller whose context ended: got error %v", err)
		}
		close(leave)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		errTest := errors.New("oops")
		wantErr(t, "the lock was not free again",
			s.Partitions().LockPartition(ctx, 1, func(context.Context) error { return errTest }), errTest)
	})
}

// I8: a recovery that loses its lock with its connection is cancelled.
func TestLostLockCancelsTheRecovery(t *testing.T) {
	t.Parallel()
	dsn := kit.MySQL(t)
	s := openMySQL(t, dsn)
	ctx := kit.Context(t)
	err := s.Partitions().LockPartition(ctx, 1, func(inner context.Context) error {
		// The lock name is the same for nodes of every version.
		hash := md5.Sum([]byte(database(t, s)))
		var holder sql.NullInt64
		name := "stampede:recover:1:" + hex.EncodeToString(hash[:])
		if err := s.DB().QueryRowContext(ctx, "SELECT IS_USED_LOCK(?)", name).Scan(&holder); err != nil ||
			!holder.Valid {
			return fmt.Errorf("lock %s has no holder: %w", name, err)
		}
		kit.Kill(t, dsn, holder.Int64)
		<-inner.Done()
		return inner.Err()
	})
	if !errors.Is(err, shop.ErrTransient) || ctx.Err() != nil {
		t.Errorf("got error %v, want ErrTransient", err)
	}
}
