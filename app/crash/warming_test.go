//go:build crashpoints

package crash

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/apptest"
	"stampede/app/crashpoint"
)

// P1, I7: a node that loads a sale because somebody wants it stops between two steps of that. Another node warms the
// same sale up, sells it, and Redis loses everything; then the first one goes on with what it believed. There is no
// second full stock.
func TestFrozenWarming(t *testing.T) {
	for _, point := range []string{crashpoint.WarmRead, crashpoint.WarmCreated, crashpoint.WarmMarked, crashpoint.WarmArm} {
		for name, race := range map[string]func(w *world, lazy *node) *node{
			"sold-then-emptied":   soldThenEmptied,
			"rebuilt-before-thaw": rebuiltBeforeThaw,
			"emptied-then-sold":   emptiedThenSold,
		} {
			t.Run(point+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "STAMPEDE_PAY_WINDOW=8s")
				partition := w.dice.IntN(partitions)
				scarce, ample := w.offer(12, 2, partition), w.offer(500, 20, partition)
				w.invite(20)
				lazy := w.start("STAMPEDE_ROLES=api", w.crashAt("freeze:"+point, 1))
				wanted := w.wantLazily(lazy, point, []app.Sale{scarce, ample}[w.dice.IntN(2)])
				next := race(w, lazy)
				wanted.Wait()
				w.comeBack(next)
				w.trade(habits{cancels: 10, presses: 3}).wait()
				w.rest(next, "")
			})
		}
	}
}

// wantLazily has one buyer ask the node for a sale that is not in Redis, and waits until the node stands still.
func (w *world) wantLazily(lazy *node, point string, sale app.Sale) *sync.WaitGroup {
	w.t.Helper()
	first := w.people[0]
	w.must(first.connect(lazy.addr))
	var wanted sync.WaitGroup
	wanted.Go(func() { first.press(&sale) })
	apptest.Eventually(w.t, 60*time.Second, func() (bool, string) {
		text, _ := os.ReadFile(lazy.log)
		return strings.Contains(string(text), "crash point "+point), "the node does not load the sale:\n" + lazy.tail()
	})
	return &wanted
}

// soldThenEmptied: the node goes on at the moment in which Redis has lost what the other one sold.
func soldThenEmptied(w *world, lazy *node) *node {
	next := w.sellOnAnother()
	w.emptyRedis()
	lazy.thaw()
	return next
}

// rebuiltBeforeThaw: the loss was noticed and mended when the node goes on.
func rebuiltBeforeThaw(w *world, lazy *node) *node {
	next := w.sellOnAnother()
	w.emptyRedis()
	apptest.Eventually(w.t, 60*time.Second, func() (bool, string) {
		n, err := w.redis.Exists(apptest.Context(w.t), saleKey(&w.sales[0])).Result()
		return err == nil && n == 1, fmt.Sprint("the sale is not in Redis again ", err)
	})
	lazy.thaw()
	return next
}

// emptiedThenSold: Redis loses the little that there is before anybody else has loaded the sale.
func emptiedThenSold(w *world, lazy *node) *node {
	w.emptyRedis()
	next := w.sellOnAnother()
	lazy.thaw()
	return next
}

// sellOnAnother starts a second node and lets everybody but the first buyer buy there until all that was answered has
// its row: what is lost with Redis later is outside P2 as long as it has none.
func (w *world) sellOnAnother() *node {
	w.t.Helper()
	next := w.start()
	first, others := w.people[:1], w.people[1:]
	w.people = others
	w.enter(next)
	w.trade(habits{presses: 5}).wait()
	w.people = append(first, others...)
	apptest.Eventually(w.t, healing, func() (bool, string) { m := w.unsettled(); return m == "", m })
	return next
}

func (w *world) emptyRedis() {
	w.t.Helper()
	w.must(w.redis.FlushDB(apptest.Context(w.t)).Err())
}
