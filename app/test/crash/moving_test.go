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
	w.portionsAgree(sale)
	w.rest(next, "")
}

// dieRecounting: the database has forgotten that units moved, and the portions are being counted again. The next life
// goes on with that.
func dieRecounting(t *testing.T, point string) {
	const units = 40
	w := newWorld(t)
	w.twoSales()
	w.invite(6)
	sale := w.stageWith(units, 2, 1, -time.Second, time.Hour, func(s *app.Sale) {
		kit.Spread(s, 2, partitions)
		s.Portions[0].Initial, s.Portions[1].Initial = 0, units
	})
	first := w.start()
	w.enter(first)
	w.trade(habits{cancels: 25, presses: 5}).wait()
	first.kill()
	for _, p := range sale.Portions { // as a replica that was promoted
		w.exec(fmt.Sprintf("UPDATE sales SET initial = %d, moved_out = 0, moved_in = 0 WHERE id = %s", p.Initial, p.ID))
		w.must(w.redis.Set(kit.Context(t), fmt.Sprintf("stampede:{%d}:database", p.Partition), "another", 0).Err())
	}
	w.exec("UPDATE portion_moves SET no = 0, state = 'done', taken = 0")
	w.launch(w.crashAt(point, 1)).waitDeath(point)
	next := w.start()
	w.comeBack(next)
	w.trade(habits{presses: 2}).wait()
	w.portionsAgree(sale)
	w.rest(next, "")
}

// portionsAgree waits until the portions of a sale have all of its units, in the database as in Redis, and no move is
// under way.
func (w *world) portionsAgree(sale app.Sale) {
	w.t.Helper()
	kit.Eventually(w.t, healing, func() (bool, string) {
		open := w.count("SELECT COUNT(*) FROM portion_moves WHERE state <> 'done'")
		poorest := w.count("SELECT MIN(initial) FROM sales WHERE portion_of = ?", sale.ID)
		return open == 0 && poorest > 0, fmt.Sprintf("%d moves are open, the poorest portion has %d units", open, poorest)
	})
	if n := w.count("SELECT SUM(initial) FROM sales WHERE portion_of = ?", sale.ID); n != sale.Initial {
		w.t.Errorf("P1: the portions have %d units by the database, want %d", n, sale.Initial)
	}
	var total int64
	for _, p := range sale.Portions {
		row := app.Sale{ID: p.ID, Partition: p.Partition}
		n, err := w.redis.HGet(kit.Context(w.t), kit.SaleKey(&row), "initial").Int64()
		w.must(err)
		total += n
		if has := w.count("SELECT initial FROM sales WHERE id = ?", p.ID); has != n {
			w.t.Errorf("P1: a portion has %d units by the database, %d in Redis", has, n)
		}
	}
	if total != sale.Initial {
		w.t.Errorf("P1: the portions have %d units in Redis, want %d", total, sale.Initial)
	}
}
