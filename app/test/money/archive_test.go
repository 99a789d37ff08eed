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
	w.over(o.Sale)
	w.retire(n, o.Sale)
	w.exec("UPDATE trades SET check_at = NULL WHERE order_id = ?", o.ID) // the trade is closed
	w.exec("UPDATE orders SET unpublished_since = NULL, changed_at = '2020-01-02' WHERE id = ?", o.ID)
	w.until("the order is archived", func() error {
		done, err := w.archiver().RunOnce(w.ctx)
		if err == nil && done.Moved != 1 {
			err = fmt.Errorf("%+v", done)
		}
		return err
	})
}

func (w *world) archiver() *archive.Archiver {
	return &archive.Archiver{Store: w.db, PartitionFigures: kit.Calm, ArchiveAfter: archive.RefundWindow}
}

// retire waits until a closed sale has left Redis.
func (w *world) retire(n *node, sale shop.ID) {
	w.t.Helper()
	w.until("the sale is removed from Redis", func() error {
		w.must(n.scan.RunOnce(n.ctx))
		if !w.retired(sale) {
			return errors.New("the sale is in Redis")
		}
		return nil
	})
}

// over sets the closing time of a sale to the distant past. All sales get an old opening time, because nothing moves
// around openings.
func (w *world) over(sale shop.ID) {
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
	n          *node
	long, live shop.SaleRef
	rest, open []shop.ID
}

func newTwoSales(t *testing.T) *twoSales {
	w := newWorld(t)
	c := &twoSales{world: w, n: w.node(nil), long: w.offer(5, 2), live: w.offer(5, 2)}
	user := newID()
	for range 2 {
		o := w.order(c.long, user)
		_, err := c.n.expirer.Cancel(w.ctx, o.User, o.ID)
		w.must(err)
		c.rest = append(c.rest, o.ID)
	}
	paidFor := w.order(c.live, user)
	sold(w, c.n, paidFor)
	c.open = []shop.ID{paidFor.ID, w.order(c.live, user).ID}
	w.exec("UPDATE orders SET unpublished_since = NULL, changed_at = '2020-01-02' WHERE sale_id = ?", c.long.ID)
	w.over(c.long.ID)
	return c
}

// settled archives the remaining orders. It requires that each order is in one table, that Redis has no key of the old
// sale, and that the other sale has all its units and holds (P1, I1, I3).
func (c *twoSales) settled(moment string) {
	c.t.Helper()
	fail := func(format string, args ...any) { c.t.Errorf("%s: %s", moment, fmt.Sprintf(format, args...)) }
	c.retire(c.n, c.long.ID)
	c.until("the orders are archived", func() error {
		_, err := c.archiver().RunOnce(c.ctx)
		return err
	})
	var archived []shop.ID
	c.must(c.db.DB().NewRaw("SELECT id FROM orders_archive ORDER BY id").Scan(c.ctx, &archived))
	rows, err := c.db.OrdersByID(c.ctx, c.rest)
	c.must(err)
	if !slices.Equal(archived, c.rest) || len(rows) != len(c.rest) {
		fail("%v are archived, want %v; %d can be read", archived, c.rest, len(rows))
	}
	keys, err := c.client.Keys(c.ctx, fmt.Sprintf("stampede:{0}:sale:%s*", c.long.ID)).Result()
	c.must(err)
	if len(keys) > 0 {
		fail("the old sale is in Redis: %v", keys)
	}
	if wrong := c.audit(c.long); wrong != "" {
		fail("the old sale: %s", wrong)
	}
	if wrong := c.counted(c.live); wrong != "" {
		fail("I3: %s", wrong)
	}
	c.world.rest(c.live, c.open, fail)
}

// P1, I1, I3, I7: archiving runs at each moment of a recovery of the partition, and so does the removal of the old sale
// from Redis. The removal succeeds when the partition is open again. The result is the same as without a recovery.
func TestOrdersMoveDuringARebuild(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"removed earlier", "removed meanwhile"} {
		for _, moment := range []string{advanced, closed, beforeRows, afterRows, afterWrites, beforeOpen} {
			t.Run(left+", "+moment, func(t *testing.T) {
				t.Parallel()
				c := newTwoSales(t)
				if left == "removed earlier" {
					c.retire(c.n, c.long.ID)
				}
				c.lose()
				once, moved := false, int64(0)
				c.must(c.n.recovers(func(at string, _ shop.ID) {
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
				c.settled(moment)
			})
		}
	}
}

// P1, I1, I3: Redis loses the partition at each moment of a move, and a recovery completes before the move continues.
func TestRebuildDuringAMove(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{
		"before Store.MoveOrders", "after Store.MoveOrders", "before Store.PlanArchive", "after Store.PlanArchive",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			c := newTwoSales(t)
			c.retire(c.n, c.long.ID)
			once := false
			comes := func(at string) {
				if at == moment && !once {
					once = true
					c.lose()
					c.must(c.n.recovers(nil))
				}
			}
			ctx := faults.With(c.ctx, func(_ context.Context, name string, call func() error) error {
				comes("before " + name)
				defer comes("after " + name)
				return call()
			})
			done, err := c.archiver().RunOnce(ctx)
			if err != nil || !once || done.Moved != 2 {
				t.Errorf("%+v (%v); reached: %v", done, err, once)
			}
			c.settled(moment)
		})
	}
}
