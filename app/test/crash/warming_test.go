//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// P1, I7: the warm-up of a node stops between two steps of loading a sale. Buyers on another node request the same
// sale, and that node loads and sells it. Redis may lose all data, and then the first node continues with stale data.
// The stock must not be loaded a second time.
func TestFrozenWarmUpLoadsNoStockTwice(t *testing.T) {
	for _, point := range []string{
		"warm.after-read", "warm.after-create", "warm.after-mark", "warm.before-arm",
	} {
		for name, race := range map[string]func(w *world, warming *node) *node{
			"sold-meanwhile":      soldMeanwhile,
			"sold-then-emptied":   soldThenEmptied,
			"rebuilt-before-thaw": rebuiltBeforeThaw,
			"emptied-then-sold":   emptiedThenSold,
		} {
			t.Run(point+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "STAMPEDE_PAY_WINDOW=8s")
				w.twoSales()
				w.addBuyers(20)
				warming := w.launch("STAMPEDE_ROLES=worker", w.crashAt("freeze:"+point, w.randomExecution(len(w.sales))))
				warming.waitFrozen(point)
				next := race(w, warming)
				w.reconnectAll(next)
				w.trade(behaviour{cancelPercent: 10, attempts: 3}).wait()
				w.awaitRest(next, "")
			})
		}
	}
}

// waitFrozen waits until the program has stopped at its crash point.
func (n *node) waitFrozen(point string) {
	n.t.Helper()
	kit.Eventually(n.t, settleTimeout, func() (bool, string) {
		return strings.Contains(n.Text(), "crash point "+point), "the program has not reached " + point + ":\n" +
			n.Tail()
	})
}

// soldMeanwhile sells on a second node while Redis keeps its data. Then the frozen node continues.
func soldMeanwhile(w *world, warming *node) *node {
	next := w.sellOnSecondNode()
	warming.thaw()
	return next
}

// soldThenEmptied sells on a second node and empties Redis. The frozen node continues immediately afterwards.
func soldThenEmptied(w *world, warming *node) *node {
	next := w.sellOnSecondNode()
	w.emptyRedis()
	warming.thaw()
	return next
}

// rebuiltBeforeThaw is like soldThenEmptied, but the nodes repair the loss before the frozen node continues.
func rebuiltBeforeThaw(w *world, warming *node) *node {
	next := w.sellOnSecondNode()
	w.emptyRedis()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		n, err := w.redis.Exists(kit.Context(w.t), kit.SaleKey(&w.sales[0])).Result()
		return err == nil && n == 1, fmt.Sprint("the sale is not restored in Redis ", err)
	})
	warming.thaw()
	return next
}

// emptiedThenSold empties Redis before a second node loads the sale. Then the frozen node continues.
func emptiedThenSold(w *world, warming *node) *node {
	w.emptyRedis()
	next := w.sellOnSecondNode()
	warming.thaw()
	return next
}

// sellOnSecondNode starts a second node, buys there and waits until all reservations have rows. Reservations without a
// row would be outside P2 if Redis loses its data.
func (w *world) sellOnSecondNode() *node {
	w.t.Helper()
	next := w.start()
	w.enter(next)
	w.trade(behaviour{attempts: 5}).wait()
	w.awaitWritten()
	return next
}

func (w *world) emptyRedis() {
	w.t.Helper()
	w.must(w.redis.FlushDB(kit.Context(w.t)).Err())
}
