package money

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"stampede/app/archive"
	"stampede/app/shop"
	"stampede/app/test/faults"
	"stampede/app/test/kit"
)

// archive moves an order to the archive: its sale becomes one that closed long ago and leaves Redis.
func (w *world) archive(n *node, o shop.Order) {
	w.t.Helper()
	w.closeLongAgo(o.Sale)
	w.awaitRetired(n, o.Sale)
	w.exec("UPDATE trades SET check_at = NULL WHERE order_id = ?", o.ID) // the trade is closed
	w.exec("UPDATE orders SET unpublished_since = NULL, changed_at = '2020-01-02' WHERE id = ?", o.ID)
	w.retry("the order is archived", func() error {
		done, err := w.archiver().RunOnce(w.ctx)
		if err == nil && done.Moved != 1 {
			err = fmt.Errorf("got result %+v, want 1 moved order", done)
		}
		return err
	})
}

func (w *world) archiver() *archive.Archiver {
	return &archive.Archiver{Store: w.db, PartitionFigures: kit.NoBacklog, ArchiveAfter: archive.RefundWindow}
}

// awaitRetired waits until a closed sale has left Redis.
func (w *world) awaitRetired(n *node, sale shop.ID) {
	w.t.Helper()
	w.retry("the sale is removed from Redis", func() error {
		w.must(n.scan.RunOnce(n.ctx))
		if !w.retired(sale) {
			return errors.New("the sale is in Redis")
		}
		return nil
	})
}

// closeLongAgo sets the closing time of a sale to the distant past. All sales get an old opening time, because nothing
// moves around openings.
func (w *world) closeLongAgo(sale shop.ID) {
	w.t.Helper()
	w.exec("UPDATE sales SET closes_at = 1000 WHERE id = ?", sale)
	w.exec("UPDATE sales SET opens_at = 500")
	w.must(w.client.HSet(w.ctx, fmt.Sprintf("stampede:{0}:sale:%s", sale), "closes", 1000).Err())
}

func (w *world) retired(sale shop.ID) bool {
	w.t.Helper()
	var at int64
	w.must(w.db.DB().NewRaw("SELECT retired_at FROM sales WHERE id = ?", sale).Scan(w.ctx, &at))
	return at != 0
}

// twoSales are two sales in one partition. One closed long ago and has two cancelled orders. The other one is open and
// has a paid and a pending order.
type twoSales struct {
	*world
	n                        *node
	closedSale, openSale     shop.SaleRef
	closedOrders, openOrders []shop.ID
}

func newTwoSales(t *testing.T) *twoSales {
	w := newWorld(t)
	c := &twoSales{world: w, n: w.node(nil), closedSale: w.offer(5, 2), openSale: w.offer(5, 2)}
	user := newID()
	for range 2 {
		o := w.order(c.closedSale, user)
		_, err := c.n.expirer.Cancel(w.ctx, o.User, o.ID)
		w.must(err)
		c.closedOrders = append(c.closedOrders, o.ID)
	}
	paidFor := w.order(c.openSale, user)
	payAndSettle(w, c.n, paidFor)
	c.openOrders = []shop.ID{paidFor.ID, w.order(c.openSale, user).ID}
	w.exec("UPDATE orders SET unpublished_since = NULL, changed_at = '2020-01-02' WHERE sale_id = ?", c.closedSale.ID)
	w.closeLongAgo(c.closedSale.ID)
	return c
}

// checkSettled archives the remaining orders. It requires that each order is in one table, that Redis has no key of the
// old sale, and that the other sale has all its units and holds (P1, I1, I3).
func (c *twoSales) checkSettled(moment string) {
	c.t.Helper()
	fail := func(format string, args ...any) { c.t.Errorf("%s: %s", moment, fmt.Sprintf(format, args...)) }
	c.awaitRetired(c.n, c.closedSale.ID)
	c.retry("the orders are archived", func() error {
		_, err := c.archiver().RunOnce(c.ctx)
		return err
	})
	var archived []shop.ID
	c.must(c.db.DB().NewRaw("SELECT id FROM orders_archive ORDER BY id").Scan(c.ctx, &archived))
	rows, err := c.db.OrdersByID(c.ctx, c.closedOrders)
	c.must(err)
	if !slices.Equal(archived, c.closedOrders) || len(rows) != len(c.closedOrders) {
		fail("%v are archived, want %v; %d can be read", archived, c.closedOrders, len(rows))
	}
	keys, err := c.client.Keys(c.ctx, fmt.Sprintf("stampede:{0}:sale:%s*", c.closedSale.ID)).Result()
	c.must(err)
	if len(keys) > 0 {
		fail("the old sale is in Redis: %v", keys)
	}
	if problem := c.audit(c.closedSale); problem != "" {
		fail("the old sale: %s", problem)
	}
	if problem := c.counterMismatch(c.openSale); problem != "" {
		fail("I3: %s", problem)
	}
	c.world.awaitRest(c.openSale, c.openOrders, fail)
}

// P1, I1, I3, I7: archiving runs at each moment of a recovery of the partition, and so does the removal of the old sale
// from Redis. The removal succeeds when the partition is open again. The result is the same as without a recovery.
func TestArchivingDuringRebuildGivesSameResult(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"removed earlier", "removed meanwhile"} {
		for _, moment := range []string{advanced, closed, beforeRows, afterRows, afterWrites, beforeOpen} {
			t.Run(left+", "+moment, func(t *testing.T) {
				t.Parallel()
				c := newTwoSales(t)
				if left == "removed earlier" {
					c.awaitRetired(c.n, c.closedSale.ID)
				}
				c.forceRebuild()
				once, moved := false, int64(0)
				c.must(c.n.recoverPartition(func(at string, _ shop.ID) {
					if at != moment || once {
						return
					}
					once = true
					_ = c.n.scan.RunOnce(c.ctx) // no effect: the partition is paused
					done, err := c.archiver().RunOnce(c.ctx)
					c.must(err)
					moved = done.Moved
				}))
				if want := left == "removed earlier"; !once || want != (moved == 2) || !want && moved != 0 {
					t.Errorf("%d orders were archived during the recovery; moment reached: %v", moved, once)
				}
				c.checkSettled(moment)
			})
		}
	}
}

// P1, I1, I3: Redis loses the partition at each moment of a move, and a recovery completes before the move continues.
func TestRebuildDuringArchivingGivesSameResult(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{
		"before Store.MoveOrders", "after Store.MoveOrders", "before Store.PlanArchive", "after Store.PlanArchive",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			c := newTwoSales(t)
			c.awaitRetired(c.n, c.closedSale.ID)
			once := false
			interrupt := func(at string) {
				if at == moment && !once {
					once = true
					c.forceRebuild()
					c.must(c.n.recoverPartition(nil))
				}
			}
			ctx := faults.With(c.ctx, func(_ context.Context, name string, call func() error) error {
				interrupt("before " + name)
				defer interrupt("after " + name)
				return call()
			})
			done, err := c.archiver().RunOnce(ctx)
			if err != nil || !once || done.Moved != 2 {
				t.Errorf("got result %+v (%v), moment reached %v; want 2 moved orders", done, err, once)
			}
			c.checkSettled(moment)
		})
	}
}
