//go:build crashpoints

package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P2, P7: Redis is killed in the middle of a backlog, and again while the backlog is written. With AOF `always` it
// keeps all accepted reservations, and XINFO is correct, also after a rewrite of the AOF.
func TestKilledRedisLosesNoReservation(t *testing.T) {
	for i := range 3 {
		t.Run(fmt.Sprintf("seed-%d", i), func(t *testing.T) {
			t.Parallel()
			server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
			w := openWorld(t, server.URL, kit.MySQL(t))
			w.setUpCrowd()
			reserver := w.start("STAMPEDE_ROLES=api,sweeper") // the sweeper role maintains the lag
			w.enter(reserver)
			tr := w.trade(behaviour{})
			w.awaitAccepted(backlog + w.rng.IntN(100))
			server.Kill()
			tr.end()
			server.Start()
			uncommitted := w.uncommitted()
			if uncommitted < backlog {
				t.Errorf("%d confirmed reservations were uncommitted at the kill, want at least %d", uncommitted, backlog)
			}
			w.awaitXinfoMatch()
			w.rewriteAOF()
			server.Kill()
			server.Start()
			w.awaitXinfoMatch()
			writer := w.start()
			w.awaitRows(w.rng.IntN(uncommitted))
			server.Kill()
			server.Start()
			w.reconnectAll(writer)
			w.awaitRest(writer, fmt.Sprintf("%3d uncommitted", uncommitted))
		})
	}
}

// rewriteAOF rewrites the append-only file from the data in memory.
func (w *world) rewriteAOF() {
	w.t.Helper()
	ctx := kit.Context(w.t)
	w.must(w.redis.BgRewriteAOF(ctx).Err())
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		info, err := w.redis.Info(ctx, "persistence").Result()
		finished := strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
		return err == nil && finished, fmt.Sprint("the AOF is being rewritten ", err)
	})
}

// P2: MariaDB is killed and stays down until 500 accepted reservations wait. After its restart the same node or another
// node continues.
func TestKilledMariaDBLosesNoReservation(t *testing.T) {
	for _, killNode := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "and-the-node"}[killNode], func(t *testing.T) {
			t.Parallel()
			server := kit.StartMariaDB(t, kit.MariaDBOptions{})
			w := openWorld(t, kit.Redis(t), server.Database(), "STAMPEDE_PAY_WINDOW=5s")
			w.setUpCrowd()
			n := w.start()
			w.enter(n)
			tr := w.trade(behaviour{})
			w.awaitAccepted(100)
			server.Kill()
			before := w.memory.acceptedCount()
			w.awaitAccepted(before + backlog)
			next := n
			if killNode {
				n.Kill()
			}
			tr.end()
			uncommitted := w.memory.acceptedCount() - before // all of them still wait
			server.Start()
			if killNode {
				next = w.start()
			}
			w.reconnectAll(next)
			w.awaitRest(next, fmt.Sprintf("%3d uncommitted", uncommitted))
		})
	}
}

// P2: for a minute the database is down, frozen or read-only, or the rows of sales are locked. No entry becomes a dead
// letter, all rows are written, and every deadline is later than the first possible write.
func TestDatabaseOutageCreatesNoDeadLetter(t *testing.T) {
	const minute = time.Minute
	for name, outage := range map[string]func(t *testing.T, w *world, server *kit.MariaDBServer) (endOutage func()){
		"down": func(_ *testing.T, _ *world, server *kit.MariaDBServer) func() {
			server.Kill()
			return server.Start
		},
		"frozen": func(_ *testing.T, _ *world, server *kit.MariaDBServer) func() {
			server.Pause()
			return server.Resume
		},
		"read-only": func(_ *testing.T, w *world, _ *kit.MariaDBServer) func() {
			w.exec("SET GLOBAL read_only = 1")
			return func() { w.exec("SET GLOBAL read_only = 0") }
		},
		"locked": func(t *testing.T, w *world, _ *kit.MariaDBServer) func() {
			tx, err := w.db.BeginTx(kit.Context(t), nil)
			w.must(err)
			_, err = tx.Exec("SELECT id FROM sales FOR UPDATE")
			w.must(err)
			return func() { w.must(tx.Rollback()) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := kit.StartMariaDB(t, kit.MariaDBOptions{})
			w := openWorld(t, kit.Redis(t), server.Database(), "STAMPEDE_PAY_WINDOW=15s")
			// root may write to a read-only server, so the program gets its own user.
			w.exec("CREATE USER 'shop'@'127.0.0.1' IDENTIFIED BY 'shop'")
			w.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO 'shop'@'127.0.0.1'")
			for i, s := range w.settings {
				w.settings[i] = strings.Replace(s, "MYSQL_DSN=root@", "MYSQL_DSN=shop:shop@", 1)
			}
			w.setUpCrowd()
			n := w.start()
			w.enter(n)
			w.trade(behaviour{attempts: 5}).wait()
			kit.Eventually(t, settleTimeout,
				func() (bool, string) { return w.uncommitted() == 0, "some reservations are not written" })
			before := w.memory.acceptedOrders()
			endOutage := outage(t, w, server)
			ends := time.NewTimer(minute)
			w.trade(behaviour{attempts: 15}).wait()
			<-ends.C
			endOutage()
			// All of them still wait. A count in the database would race with the first commit.
			uncommitted := slices.DeleteFunc(w.memory.acceptedOrders(),
				func(id shop.ID) bool { return slices.Contains(before, id) })
			if len(uncommitted) < backlog {
				t.Errorf("%d reservations waited for the database, want at least %d", len(uncommitted), backlog)
			}
			now, err := w.redis.Time(kit.Context(t)).Result()
			w.must(err)
			w.reconnectAll(n)
			w.awaitRest(n, fmt.Sprintf("%3d uncommitted", len(uncommitted)))
			w.requireTimeToPay(uncommitted, shop.MillisOf(now))
		})
	}
}

func (w *world) exec(statement string) {
	w.t.Helper()
	_, err := w.db.ExecContext(kit.Context(w.t), statement)
	w.must(err)
}

// requireTimeToPay requires that the deadlines of the orders are later than the first instant at which they could be
// written.
func (w *world) requireTimeToPay(orders []shop.ID, writable shop.Millis) {
	w.t.Helper()
	waited := make(map[shop.ID]bool, len(orders))
	for _, id := range orders {
		waited[id] = true
	}
	for i := range w.final.Rows {
		if r := &w.final.Rows[i]; waited[r.ID] && r.PayBy <= writable {
			w.t.Errorf("the deadline of order %s is %d ms before the first moment at which it could be written", r.ID, writable-r.PayBy)
			return
		}
	}
}

// awaitRows waits until the database has more than n orders.
func (w *world) awaitRows(n int) {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		got := w.count("SELECT COUNT(*) FROM orders")
		return got > int64(n), fmt.Sprintf("%d rows, want more than %d", got, n)
	})
}
