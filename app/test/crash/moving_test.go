//go:build crashpoints

package crash

import (
	"fmt"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// dieMoving: units are on their way between two portions of a spread sale, because one of them has none. The next life
// finishes the move, and no unit is there twice or not at all.
func dieMoving(t *testing.T, point string) {
	const units = 40
	w := newWorld(t)
	w.twoSales()
	w.invite(6)
	sale := w.stageWith(units, 2, 1, -time.Second, time.Hour, func(s *app.Sale) {
		kit.Spread(s, 2, partitions)
		s.Portions[0].Initial, s.Portions[1].Initial = 0, units
	})
	w.launch(w.crashAt(point, 1)).waitDeath(point)
	next := w.start()
	w.enter(next)
	w.trade(habits{cancels: 25, presses: 5}).wait()
	w.comeBack(next)
	kit.Eventually(t, healing, func() (bool, string) {
		open := w.count("SELECT COUNT(*) FROM portion_moves WHERE state <> 'done'")
		poorest := w.count("SELECT MIN(initial) FROM sales WHERE portion_of = ?", sale.ID)
		return open == 0 && poorest > 0, fmt.Sprintf("%d moves are open, the poorest portion has %d units", open, poorest)
	})
	if n := w.count("SELECT SUM(initial) FROM sales WHERE portion_of = ?", sale.ID); n != units {
		t.Errorf("P1: the portions have %d units by the database, want %d", n, units)
	}
	var free int64
	for _, p := range sale.Portions {
		row := app.Sale{ID: p.ID, Partition: p.Partition}
		n, err := w.redis.HGet(kit.Context(t), kit.SaleKey(&row), "stock").Int64()
		w.must(err)
		free += n
	}
	if free != units {
		t.Errorf("P1: %d units are free in Redis, want %d", free, units)
	}
	w.rest(next, "")
}
