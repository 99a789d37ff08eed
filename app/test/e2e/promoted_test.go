package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// promotion is a sale during which the primary database dies and its replica is promoted.
type promotion struct {
	*testShop
	t                *testing.T
	g                *gateway
	primary, replica *kit.MariaDBServer
	wire             *kit.Proxy
	sale             shop.Sale
	n                *node
	users            int // number of users with an order
}

func newPromotion(t *testing.T, semiSync bool, units int64) *promotion {
	p := newPair(t, semiSync)
	p.sale = p.open(units, 1)
	p.n = p.start()
	return p
}

// newPair returns a shop without sales, on a primary with a replica.
func newPair(t *testing.T, semiSync bool) *promotion {
	p := &promotion{t: t, g: startGateway(t)}
	p.primary, p.replica = kit.StartReplicated(t, semiSync)
	p.wire = kit.NewProxy(t, p.primary.Database())
	p.testShop = openShop(t, kit.Redis(t), p.wire.URL, p.g.settings...)
	return p
}

func (p *promotion) sell(count int) []shop.ID {
	p.t.Helper()
	users := p.buyers(p.n, p.sale, count)
	p.users += count
	p.awaitDrained(p.sale)
	return users
}

func (p *promotion) buyPending() (shop.Order, string) {
	p.t.Helper()
	who := token(p.t, kit.NewID())
	p.users++
	return p.n.buyPending(p.sale, who, 1), who
}

func (p *promotion) cancelOrder(o shop.Order, who string) {
	p.t.Helper()
	p.n.expect(http.StatusOK, nil, p.n.post, "/api/v1/orders/"+o.ID.String()+"/cancel", who, nil)
}

// failPrimary kills the primary and promotes the replica.
func (p *promotion) failPrimary() {
	p.t.Helper()
	p.primary.Kill()
	p.promote()
}

// promote promotes the replica of a dead primary and redirects the nodes to it.
func (p *promotion) promote() {
	p.t.Helper()
	p.replica.Promote()
	p.wire.Redirect(p.replica.DSN)
}

// awaitRecovered waits until the recoveries of the node have written the given number of rows. Then it waits until the
// node uses the promoted database, which it does after the last partition.
func (p *promotion) awaitRecovered(rows int) {
	p.t.Helper()
	failed := time.Now()
	kit.Eventually(p.t, waitTimeout, func() (bool, string) {
		n := p.n.metric("stampede_recovery_orders_total")
		return int(n) == rows, fmt.Sprintf("%v orders written, want %d", n, rows)
	})
	userToken := token(p.t, kit.NewID())
	kit.Eventually(p.t, waitTimeout, func() (bool, string) {
		code, text := p.n.get("/api/v1/orders", userToken)
		return code == http.StatusOK, fmt.Sprintf("the list of orders returns %d: %s", code, text)
	})
	p.t.Logf("%d lost orders could be read %v after the promotion", rows, time.Since(failed).Round(time.Millisecond))
}

// requireNothingToRecover recovers all partitions by hand and checks that nothing is left to recover.
func (p *promotion) requireNothingToRecover() {
	p.t.Helper()
	out, code := p.run("recover")
	const nothing = "0 orders written, 0 ended, 0 sales imported, 0 problems\n"
	if code != 0 || !strings.HasSuffix(out, nothing) {
		p.t.Errorf("recover exits %d: %s; want 0 and %s", code, out, nothing)
	}
}

// P1, P2, P8: the primary dies during a sale. Its promoted replica lacks orders, payments, cancellations and added
// units. The nodes restore them from Redis, the stream and the gateway within seconds, while buyers continue. A second
// recovery finds nothing.
func TestPromotedDatabaseRecoversMissingChanges(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 60)
	p.sell(10)
	cancelledLater, a := p.buyPending()
	paidLater, b := p.buyPending()
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()

	p.sell(20)
	if out, code := p.n.run("sale", "add-stock", p.sale.ID.String(), "5"); code != 0 {
		t.Fatalf("add-stock exits %d: %s", code, out)
	}
	paid, c := p.buyPending()
	cancelled, d := p.buyPending()
	p.cancelOrder(cancelledLater, a)
	p.cancelOrder(cancelled, d)
	p.n.payOrder(p.g, paidLater, b)
	p.n.payOrder(p.g, paid, c)
	lost := p.users - 12
	p.failPrimary()
	if n := p.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", p.sale.ID); n != 12 {
		t.Fatalf("the replica has %d orders; want the 12 that it had applied", n)
	}
	p.awaitRecovered(lost)
	p.n.awaitState(cancelledLater.ID, a, shop.Cancelled)
	p.n.awaitState(paidLater.ID, b, shop.Paid)
	p.n.awaitState(paid.ID, c, shop.Paid)
	p.n.awaitState(cancelled.ID, d, shop.Cancelled)
	p.sell(10)
	p.audit(p.sale)
	p.requireOneOrderPerBuyer(p.sale, p.users)
	if taken, refunded := p.g.ledger(); taken != paid.AmountFen+paidLater.AmountFen || refunded != 0 {
		t.Errorf("the gateway took %d fen and refunded %d fen", taken, refunded)
	}
	p.requireNothingToRecover()
}

// P1, P2, P8: within the replication lag, the only unit is cancelled, sold again and paid. In the promoted database the
// first order still holds the unit. After the recovery the unit belongs to the second buyer, whose order stays paid.
func TestResoldUnitStaysWithSecondBuyer(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 1)
	first, a := p.buyPending()
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()
	p.cancelOrder(first, a)
	second, b := p.buyPending()
	p.n.payOrder(p.g, second, b)
	p.failPrimary()
	p.awaitRecovered(1)
	p.n.awaitState(second.ID, b, shop.Paid)
	p.n.awaitState(first.ID, a, shop.Cancelled)
	p.audit(p.sale)
	if taken, refunded := p.g.ledger(); taken != second.AmountFen || refunded != 0 {
		t.Errorf("the gateway took %d fen and refunded %d fen; want %d and 0", taken, refunded, second.AmountFen)
	}
	p.requireNothingToRecover()
}
