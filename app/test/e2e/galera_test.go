//go:build galera

package e2e

import (
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// galeraShop sells on the first node of a Galera cluster, whose address can be moved to another one.
type galeraShop struct {
	*shop
	cluster *kit.GaleraCluster
	dsns    []string
	wire    *kit.Proxy
	sale    app.Sale
}

func newGaleraShop(t *testing.T, units int64) *galeraShop {
	g := &galeraShop{cluster: kit.StartGalera(t)}
	g.dsns = g.cluster.Database()
	g.wire = kit.NewProxy(t, g.dsns[0])
	g.shop = openShop(t, kit.Redis(t), g.wire.URL)
	// What the test counts is what every node had committed by then.
	db, err := sql.Open("mysql", g.wire.URL+"?wsrep_sync_wait=7")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g.shop.db = db
	g.sale = g.open(units, 1)
	return g
}

// portionEvery keeps the crowd small enough for what is left of a sale on a loaded machine.
const portionEvery = 100 * time.Millisecond

// whileBuying lets people buy on the nodes in portions until fn is done, and answers how many did.
func (g *galeraShop) whileBuying(nodes []*node, portion int, fn func()) int {
	g.t.Helper()
	done := make(chan struct{})
	var buying sync.WaitGroup
	bought := make([]int, len(nodes))
	for i, n := range nodes {
		buying.Go(func() {
			for more := true; more; bought[i] += portion {
				g.buyers(n, g.sale, portion)
				select {
				case <-done:
					more = false
				case <-time.After(portionEvery):
				}
			}
		})
	}
	fn()
	close(done)
	buying.Wait()
	total := 0
	for _, n := range bought {
		total += n
	}
	return total
}

// whole is what has to be true in the end: each answer is a row, no unit is sold twice, the books agree.
func (g *galeraShop) whole(buyers int) {
	g.t.Helper()
	g.drained(g.sale)
	g.audit(g.sale)
	g.onePerBuyer(g.sale, buyers)
	if letters := g.deadLetters(); len(letters) > 0 {
		g.t.Errorf("%d dead letters: %+v", len(letters), letters)
	}
	g.t.Logf("%d bought", buyers)
}

// P1, P2, P4: two nodes of the shop write through two nodes of the cluster, which the runbook tells nobody to do, as at
// the moment in which an address moves. Their transactions conflict at the COMMIT; what was answered is kept, once.
func TestGaleraTwoWriters(t *testing.T) {
	t.Parallel()
	g := newGaleraShop(t, 20_000)
	nodes := []*node{g.start(), g.start("STAMPEDE_MYSQL_DSN=" + g.dsns[1])}
	bought := g.whileBuying(nodes, 20, func() {
		for range 8 {
			g.buyers(nodes[0], g.sale, 10)
		}
	})
	g.whole(bought + 80)
}

// P1, P2: the majority of the cluster stands still in mid-sale. Buys are taken meanwhile; all of them become rows
// when the others are back, and no attempt that failed in between makes a dead letter.
func TestGaleraLosesItsMajorityInMidSale(t *testing.T) {
	t.Parallel()
	g := newGaleraShop(t, 20_000)
	n := g.start()
	bought := g.whileBuying([]*node{n}, 10, func() {
		g.cluster.Nodes[1].Pause()
		g.cluster.Nodes[2].Pause()
		kit.Eventually(t, patience, func() (bool, string) {
			return strings.Contains(n.log.String(), "Error 1047"), "the node has not met error 1047"
		})
		g.cluster.Nodes[1].Resume()
		g.cluster.Nodes[2].Resume()
		g.cluster.Whole()
	})
	g.whole(bought)
}

// P1, P2, F6: the cluster's node that the shop writes to is killed in mid-sale and the address moves to another one.
// Nothing is lost, so nothing is written again and no client hears of another history.
func TestGaleraNodeDiesInMidSale(t *testing.T) {
	t.Parallel()
	g := newGaleraShop(t, 20_000)
	n := g.start()
	before, err := g.store.Clock(kit.Context(t))
	g.must(err)
	var moved time.Duration
	bought := g.whileBuying([]*node{n}, 10, func() {
		g.cluster.Nodes[0].Kill()
		g.wire.Redirect(g.dsns[1])
		killed := time.Now()
		first := int64(-1)
		kit.Eventually(t, patience, func() (bool, string) {
			var rows int64
			err := g.db.QueryRow("SELECT COUNT(*) FROM orders WHERE sale_id = ?", g.sale.ID).Scan(&rows)
			if err != nil {
				return false, err.Error()
			}
			if first < 0 {
				first = rows
			}
			return rows > first, "no row was written after the move"
		})
		moved = time.Since(killed)
	})
	g.whole(bought)
	t.Logf("rows were written again %v after the node died", moved.Round(time.Millisecond))
	after, err := g.store.Clock(kit.Context(t))
	g.must(err)
	if before.History != after.History {
		t.Errorf("history %s, then %s on another node of the same cluster", before.History, after.History)
	}
	if again := n.metric("stampede_redo_orders_total"); again != 0 {
		t.Errorf("%v orders were written again", again)
	}
}
