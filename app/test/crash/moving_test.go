//go:build crashpoints

package crash

import (
	"fmt"
	"slices"
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
	w.portionsAgree(sale) // the one that had none has got some
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

// portionsAgree waits until each portion of a sale has some units, all of them together those of the sale, in the
// database as in Redis, and no move is under way. Nodes that live may begin one at any time, so it is one look that
// counts.
func (w *world) portionsAgree(sale app.Sale) {
	w.t.Helper()
	kit.Eventually(w.t, healing, func() (bool, string) {
		var rows, inRedis []int64
		for _, p := range sale.Portions {
			row := app.Sale{ID: p.ID, Partition: p.Partition}
			n, err := w.redis.HGet(kit.Context(w.t), kit.SaleKey(&row), "initial").Int64()
			w.must(err)
			inRedis = append(inRedis, n)
			rows = append(rows, w.count("SELECT initial FROM sales WHERE id = ?", p.ID))
		}
		open, sum := w.count("SELECT COUNT(*) FROM portion_moves WHERE state <> 'done'"), int64(0)
		for _, n := range rows {
			sum += n
		}
		return open == 0 && slices.Min(rows) > 0 && slices.Equal(rows, inRedis) && sum == sale.Initial,
			fmt.Sprintf("P1: the portions have %d units by the database, %d in Redis, of %d; %d moves are open", rows, inRedis,
				sale.Initial, open)
	})
}
