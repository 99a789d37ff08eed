package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"stampede/app"
	"stampede/app/test/kit"
)

// confirmed are orders of which their buyers were told that they have a row.
type confirmed struct {
	mu       sync.Mutex
	orders   []app.ID
	answered int // buys, with a row or not yet
}

func (c *confirmed) all() []app.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.orders)
}

// waiting is how many buys were answered whose buyers wait for their row.
func (c *confirmed) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered - len(c.orders)
}

// goOnBuying has people buy one after the other until stop is closed; whose order is pending is noted.
func (p *promotion) goOnBuying(c *confirmed, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		who := token(p.t, kit.NewID())
		var receipt app.Receipt
		status, text := p.n.post("/api/v1/sales/"+p.sale.ID.String()+"/buy", who, map[string]any{
			"qty": 1, "key": "whole-" + kit.NewID().String(),
		})
		if status != http.StatusOK || json.Unmarshal(text, &receipt) != nil {
			continue
		}
		c.mu.Lock()
		c.answered++
		c.mu.Unlock()
		for told := false; !told; {
			var o app.Order
			status, text := p.n.get("/api/v1/orders/"+receipt.Order.String(), who)
			if told = status == http.StatusOK && json.Unmarshal(text, &o) == nil && o.State == app.Pending; told {
				c.mu.Lock()
				c.orders = append(c.orders, receipt.Order)
				c.mu.Unlock()
			}
			select {
			case <-stop:
				return
			case <-time.After(pollPause):
			}
		}
	}
}

// onReplica is the shop's database as the replica has it, past the address that the nodes use.
func (p *promotion) onReplica() *sql.DB {
	p.t.Helper()
	of, err := mysql.ParseDSN(p.dsn)
	p.must(err)
	at, err := mysql.ParseDSN(p.replica.DSN)
	p.must(err)
	at.DBName = of.DBName
	db, err := sql.Open("mysql", at.FormatDSN())
	p.must(err)
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

const (
	// pollPause is how soon a buyer looks again whether the order has its row: sooner than a long poll would, so that
	// confirmations of the last moment are known.
	pollPause = 5 * time.Millisecond
	// alone is how long the primary has no replica before it dies, while people wait for their rows: long enough for
	// confirmations that do not wait for one.
	alone = 2 * time.Second
)

// P2: with semi-sync replication a primary that dies in mid-sale takes no order with it that was confirmed: its
// replica, which had applied nothing of the stretch and only received it, has each of them before it is promoted, so
// before any node could give one back.
func TestSemiSyncReplicaHasWhatWasConfirmed(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, true, 100_000)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()

	var c confirmed
	stop := make(chan struct{})
	var buying sync.WaitGroup
	for range 4 {
		buying.Go(func() { p.goOnBuying(&c, stop) })
	}
	kit.Eventually(t, patience, func() (bool, string) {
		n := len(c.all())
		return n >= 40, fmt.Sprintf("%d orders confirmed, want 40 before the primary dies", n)
	})
	before := kit.Count(t, p.onReplica(), "SELECT COUNT(*) FROM orders WHERE sale_id = ?", p.sale.ID)
	p.replica.StopReceiving()
	kit.Eventually(t, patience, func() (bool, string) {
		return c.waiting() > 0, "nobody waits for a row while the primary is alone"
	})
	time.Sleep(alone)
	p.primary.Kill()
	p.replica.ApplyAll()
	known := c.all() // nobody is told anything between the kill and the promotion that the primary had not committed
	p.replica.Promote()
	has := p.onReplica()
	for _, id := range known {
		if kit.Count(t, has, "SELECT COUNT(*) FROM orders WHERE id = ?", id) != 1 {
			t.Errorf("order %s was confirmed, and the promoted replica does not have it", id)
		}
	}
	t.Logf("%d orders were confirmed when the primary died; the replica had applied %d", len(known), before)
	if before != 0 {
		t.Errorf("the replica had applied %d orders already: this shows nothing about what it had only received", before)
	}
	p.wire.Redirect(p.replica.DSN)
	after := len(known)
	kit.Eventually(t, patience, func() (bool, string) {
		n := len(c.all())
		return n >= after+10, fmt.Sprintf("%d orders confirmed after the promotion, want 10", n-after)
	})
	close(stop)
	buying.Wait()
	p.drained(p.sale)
	p.audit(p.sale)
	if n := p.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", p.sale.ID); n < int64(c.answered) {
		t.Errorf("%d rows of %d buys that were answered", n, c.answered)
	}
}

// P1, P2: redos that run at once, two by hand beside those of two nodes, do no harm: each lost order is written again
// once, nobody has two, and the numbers agree.
func TestRedosAtOnce(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 60)
	second := p.start()
	p.sell(5)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()
	p.sell(25)
	p.fail()

	outs := make([]string, 2)
	var redos sync.WaitGroup
	for i := range outs {
		redos.Go(func() {
			out, code := p.run("redo")
			if outs[i] = out; code != 0 {
				t.Errorf("redo exits %d beside others: %s", code, out)
			}
		})
	}
	redos.Wait()
	byHand := 0
	for _, out := range outs {
		var rows int
		says := out[strings.LastIndexByte(strings.TrimRight(out, "\n"), '\n')+1:] // behind what it has logged
		if _, err := fmt.Sscanf(says, "%d orders written again", &rows); err != nil {
			t.Errorf("redo says %q: %v", out, err)
		}
		byHand += rows
	}
	kit.Eventually(t, patience, func() (bool, string) {
		one, two := p.n.metric("stampede_redo_orders_total"), second.metric("stampede_redo_orders_total")
		return byHand+int(one+two) == 25,
			fmt.Sprintf("%d orders written again by hand, %v and %v by nodes, want 25 together", byHand, one, two)
	})
	p.sell(5)
	p.audit(p.sale)
	p.onePerBuyer(p.sale, p.users)
}

// P1, P8: what a redo cannot give back it lists, and leaves alone: an order whose entry the stream has forgotten, and
// one that was refunded and counts as paid again. The command says so with its exit code, as often as it is asked.
func TestRedoListsWhatItCannotGiveBack(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 20)
	refunded, who := p.bought()
	p.n.paid(p.g, refunded, who)
	p.drained(p.sale)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()
	p.n.expect(http.StatusOK, nil, p.n.post, "/api/v1/orders/"+refunded.ID.String()+"/refund", who,
		map[string]any{"reason": "尺码不合适"})
	p.n.becomes(refunded.ID, who, app.Refunded)
	forgotten, _ := p.bought()
	p.drained(p.sale)
	p.must(p.redis.XTrimMaxLen(kit.Context(t), streamKey(p.sale), 0).Err())
	p.fail()

	var report app.RedoReport
	kit.Eventually(t, patience, func() (bool, string) {
		out, code := p.run("redo", "--json")
		start := strings.IndexByte(out, '{')
		if start < 0 || json.NewDecoder(strings.NewReader(out[start:])).Decode(&report) != nil {
			return false, fmt.Sprintf("redo exits %d: %s", code, out)
		}
		return code == 3 && len(report.Missing) == 2, fmt.Sprintf("redo exits %d: %+v", code, report)
	})
	for order, want := range map[app.ID]string{
		refunded.ID: "it was refunded", forgotten.ID: "the stream has forgotten its entry",
	} {
		if !slices.ContainsFunc(report.Missing, func(m app.Lacked) bool {
			return m.Sale == p.sale.ID && m.Order == order && strings.Contains(m.Says, want)
		}) {
			t.Errorf("order %s: %q is not in %+v", order, want, report.Missing)
		}
	}
	p.n.becomes(refunded.ID, who, app.Paid)
	if n := p.count("SELECT COUNT(*) FROM orders WHERE id = ?", forgotten.ID); n != 0 {
		t.Errorf("the forgotten order has %d rows; nobody knows whose it is", n)
	}
	if taken, back := p.g.ledger(); taken != refunded.AmountFen || back != refunded.AmountFen {
		t.Errorf("the gateway took %d and gave back %d", taken, back)
	}
}
