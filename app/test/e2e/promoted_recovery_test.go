package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"stampede/app/order"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// confirmed collects the orders whose buyers have read the pending row.
type confirmed struct {
	mu           sync.Mutex
	orders       []shop.ID
	acknowledged int // acknowledged buys, with or without a row
}

func (c *confirmed) all() []shop.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.orders)
}

// waiting returns the number of acknowledged buys whose row is not yet confirmed.
func (c *confirmed) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acknowledged - len(c.orders)
}

// buyUntilStopped buys for new users, one after the other, until stop is closed. It records each order that is pending.
func (p *promotion) buyUntilStopped(c *confirmed, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		who := token(p.t, kit.NewID())
		var receipt order.Receipt
		status, text := p.n.post("/api/v1/sales/"+p.sale.ID.String()+"/buy", who, map[string]any{
			"qty": 1, "key": "whole-" + kit.NewID().String(),
		})
		if status != http.StatusOK || json.Unmarshal(text, &receipt) != nil {
			continue
		}
		c.mu.Lock()
		c.acknowledged++
		c.mu.Unlock()
		for pending := false; !pending; {
			var o shop.Order
			status, text := p.n.get("/api/v1/orders/"+receipt.Order.String(), who)
			if pending = status == http.StatusOK && json.Unmarshal(text, &o) == nil &&
				o.State == shop.Pending; pending {
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

// onReplica connects to the shop's database on the replica, without the proxy that the nodes use.
func (p *promotion) onReplica() *sql.DB {
	p.t.Helper()
	shopConfig, err := mysql.ParseDSN(p.dsn)
	p.must(err)
	replicaConfig, err := mysql.ParseDSN(p.replica.DSN)
	p.must(err)
	replicaConfig.DBName = shopConfig.DBName
	db, err := sql.Open("mysql", replicaConfig.FormatDSN())
	p.must(err)
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

const (
	// pollPause is the interval at which a buyer checks whether the order has its row. It is shorter than a long poll,
	// so that the last confirmations before the failure are recorded.
	pollPause = 5 * time.Millisecond
	// withoutReplica is the time for which the primary has no replica before it dies, while buyers wait for their rows.
	// It is long enough to detect confirmations that do not wait for the replica.
	withoutReplica = 2 * time.Second
)

// P2: with semi-sync replication, a primary that dies during a sale loses no confirmed order. The replica has received
// the orders of the sale but applied none. It applies these orders before its promotion, which is before any node can
// restore an order.
func TestSemiSyncReplicaHasConfirmedOrders(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, true, 100_000)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()

	var c confirmed
	stop := make(chan struct{})
	var buying sync.WaitGroup
	for range 4 {
		buying.Go(func() { p.buyUntilStopped(&c, stop) })
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		n := len(c.all())
		return n >= 40, fmt.Sprintf("%d orders confirmed, want 40 before the primary dies", n)
	})
	before := kit.Count(t, p.onReplica(), "SELECT COUNT(*) FROM orders WHERE sale_id = ?", p.sale.ID)
	p.replica.StopReceiving()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return c.waiting() > 0, "no buyer waits for a row while the primary has no replica"
	})
	time.Sleep(withoutReplica)
	p.primary.Kill()
	p.replica.ApplyAll()
	known := c.all() // between the kill and the promotion, buyers read only rows that the primary had committed
	p.replica.Promote()
	replicaDB := p.onReplica()
	for _, id := range known {
		if kit.Count(t, replicaDB, "SELECT COUNT(*) FROM orders WHERE id = ?", id) != 1 {
			t.Errorf("order %s was confirmed, and the promoted replica does not have it", id)
		}
	}
	t.Logf("%d orders were confirmed when the primary died; the replica had applied %d", len(known), before)
	if before != 0 {
		t.Errorf("the replica had applied %d orders, want 0: the test must show that received orders are kept", before)
	}
	p.wire.Redirect(p.replica.DSN)
	after := len(known)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		n := len(c.all())
		return n >= after+10, fmt.Sprintf("%d orders confirmed after the promotion, want 10", n-after)
	})
	close(stop)
	buying.Wait()
	p.awaitDrained(p.sale)
	p.audit(p.sale)
	if n := p.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", p.sale.ID); n < int64(c.acknowledged) {
		t.Errorf("%d rows of %d confirmed buys", n, c.acknowledged)
	}
}

// P2: a failover with semi-sync replication loses nothing, and recovery changes no row: it writes, ends and touches no
// order.
func TestSemiSyncFailoverChangesNoRow(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, true, 20)
	p.sell(5)
	cancelled, a := p.buyPending()
	p.cancelOrder(cancelled, a)
	paid, b := p.buyPending()
	p.n.payOrder(p.g, paid, b)
	p.awaitDrained(p.sale)
	rows := func() (rows []string) {
		all, err := p.db.QueryContext(kit.Context(t), "SELECT CONCAT_WS(' ', id, state, reason, hold, rev, pay_by,"+
			" trade_opened) FROM orders ORDER BY id")
		p.must(err)
		defer func() { _ = all.Close() }()
		for all.Next() {
			var row string
			p.must(all.Scan(&row))
			rows = append(rows, row)
		}
		p.must(all.Err())
		return rows
	}
	before := rows()
	passes := p.n.metric("stampede_recovery_passes_total")
	p.primary.Kill()
	p.replica.ApplyAll()
	p.promote()
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		n := p.n.metric("stampede_recovery_passes_total") - passes
		return n == 8, fmt.Sprintf("%v partitions recovered, want 8", n)
	})
	if after := rows(); !slices.Equal(before, after) {
		t.Errorf("the recovery changed rows: got\n%s\nwant\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	p.sell(5)
	p.audit(p.sale)
}

// P1, P2: four recoveries run concurrently: two by hand and two by nodes. Each lost order is written once, no buyer has
// two orders, and the numbers agree.
func TestConcurrentRecoveriesWriteEachOrderOnce(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 60)
	second := p.start()
	p.sell(5)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()
	p.sell(25)
	p.failPrimary()

	var byHand atomic.Int64
	var recoveries sync.WaitGroup
	for range 2 {
		recoveries.Go(func() {
			if report, code := p.recover(); code != 0 {
				t.Errorf("recover exits %d during other recoveries: %+v", code, report)
			} else {
				byHand.Add(int64(report.Written))
			}
		})
	}
	recoveries.Wait()
	const metric = "stampede_recovery_orders_total"
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		one, two := p.n.metric(metric), second.metric(metric)
		return byHand.Load()+int64(one+two) == 25,
			fmt.Sprintf("%d orders written by the command, %v and %v by nodes, want 25 in total", byHand.Load(), one, two)
	})
	p.sell(5)
	p.audit(p.sale)
	p.requireOneOrderPerBuyer(p.sale, p.users)
}

// recover runs `stampede recover` and returns its report, which is empty after an error.
func (p *promotion) recover(args ...string) (report recovery.Report, code int) {
	p.t.Helper()
	out, code := p.run(append([]string{"recover"}, append(args, "--json")...)...)
	if start := strings.IndexByte(out, '{'); start >= 0 { // after the log lines
		_ = json.NewDecoder(strings.NewReader(out[start:])).Decode(&report)
	} else {
		p.t.Logf("recover %v exits %d: %s", args, code, out)
	}
	return report, code
}

// P1, P8: a recovery lists the problems that it cannot resolve. Each run lists them until an operator settles them. One
// order has lost its row and its stream entry: its buyer sees that the shop is checking it, and the sale continues.
// Another order was refunded within the lag and is paid in the promoted database. No unit is sold twice and no money is
// sent twice.
func TestRecoverListsUnsettledProblems(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 20)
	refunded, a := p.buyPending()
	p.n.payOrder(p.g, refunded, a)
	p.awaitDrained(p.sale)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()
	p.n.expect(http.StatusOK, nil, p.n.post, "/api/v1/orders/"+refunded.ID.String()+"/refund", a,
		map[string]any{"reason": "尺码不合适"})
	p.n.awaitState(refunded.ID, a, shop.Refunded)
	lost, b := p.buyPending()
	p.awaitDrained(p.sale)
	p.must(p.redis.XTrimMaxLen(kit.Context(t), streamKey(p.sale), 0).Err())
	p.failPrimary()

	var report recovery.Report
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		var code int
		report, code = p.recover()
		return code == 3 && len(report.Problems) == 2, fmt.Sprintf("recover exits %d: %+v", code, report)
	})
	for placed, want := range map[shop.ID]string{refunded.ID: "decide on its refund", lost.ID: "has no row"} {
		if !slices.ContainsFunc(report.Problems, func(one shop.Problem) bool {
			return one.Sale == p.sale.ID && one.Order == placed && strings.Contains(one.Text, want)
		}) {
			t.Errorf("order %s: %q is not in %+v", placed, want, report.Problems)
		}
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) { // until the node uses the promoted database
		status, text := p.n.get("/api/v1/orders/"+refunded.ID.String(), a)
		return status == http.StatusOK, string(text)
	})
	p.n.awaitState(refunded.ID, a, shop.Paid)
	if n := p.count("SELECT COUNT(*) FROM orders WHERE id = ?", lost.ID); n != 0 {
		t.Errorf("the lost order has %d rows before it is settled, want 0", n)
	}
	if checked := p.n.awaitState(lost.ID, b, shop.Reserved); checked.Reason != shop.ReasonChecking {
		t.Errorf("the buyer of the lost order reads %+v, want the reason %s", checked, shop.ReasonChecking)
	}
	p.sell(1)
	if report, code := p.recover("settle", lost.ID.String(), "--write"); code != 3 || len(report.Problems) != 1 {
		t.Errorf("after one of two was settled: exit code %d, %+v", code, report)
	}
	if o := p.n.awaitState(lost.ID, b, shop.Pending); o.AmountFen != lost.AmountFen || o.Qty != lost.Qty {
		t.Errorf("the order was written as %+v, want %+v", o, lost)
	}
	if report, code := p.recover("settle", refunded.ID.String(), "--refund"); code != 0 {
		t.Errorf("after both were settled: exit code %d, %+v", code, report)
	}
	p.n.awaitState(refunded.ID, a, shop.Refunded)
	if taken, back := p.g.ledger(); taken != refunded.AmountFen || back != refunded.AmountFen {
		t.Errorf("the gateway took %d fen and refunded %d fen", taken, back)
	}
	p.sell(2)
	p.audit(p.sale)
}
