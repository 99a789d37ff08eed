package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// promotion is a sale whose primary database dies in the middle of it, and whose replica is promoted.
type promotion struct {
	*shop
	t                *testing.T
	g                *gateway
	primary, replica *kit.MariaDBServer
	wire             *kit.Proxy
	sale             app.Sale
	n                *node
	users            int // who has an order
}

func newPromotion(t *testing.T, semiSync bool, units int64) *promotion {
	p := newPair(t, semiSync)
	p.sale = p.open(units, 1)
	p.n = p.start()
	return p
}

// newPair is a shop that sells nothing yet, on a primary with a replica.
func newPair(t *testing.T, semiSync bool) *promotion {
	p := &promotion{t: t, g: startGateway(t)}
	p.primary, p.replica = kit.StartReplicated(t, semiSync)
	p.wire = kit.NewProxy(t, p.primary.Database())
	p.shop = openShop(t, kit.Redis(t), p.wire.URL, p.g.settings...)
	return p
}

func (p *promotion) sell(many int) []app.ID {
	p.t.Helper()
	users := p.buyers(p.n, p.sale, many)
	p.users += many
	p.drained(p.sale)
	return users
}

func (p *promotion) bought() (app.Order, string) {
	p.t.Helper()
	who := token(p.t, kit.NewID())
	p.users++
	return p.n.bought(p.sale, who, 1), who
}

func (p *promotion) cancels(o app.Order, who string) {
	p.t.Helper()
	p.n.expect(http.StatusOK, nil, p.n.post, "/api/v1/orders/"+o.ID.String()+"/cancel", who, nil)
}

// fail kills the primary, and has the replica take its place.
func (p *promotion) fail() {
	p.t.Helper()
	p.primary.Kill()
	p.promote()
}

// promote has the replica take the place of a primary that is dead.
func (p *promotion) promote() {
	p.t.Helper()
	p.replica.Promote()
	p.wire.Redirect(p.replica.DSN)
}

// P1, P2, P8: the primary dies in mid-sale, and its replica is promoted without what it had not applied: orders,
// payments, cancellations and units that were added. The stream and the gateway give all of it back, by itself and
// within seconds, while people go on buying; a second redo finds nothing.
func TestPromotedDatabaseGetsBackWhatItLacks(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 60)
	p.sell(10)
	cancelledLater, a := p.bought()
	paidLater, b := p.bought()
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()

	p.sell(20)
	if out, code := p.n.run("sale", "add-stock", p.sale.ID.String(), "5"); code != 0 {
		t.Fatalf("add-stock exits %d: %s", code, out)
	}
	paid, c := p.bought()
	cancelled, d := p.bought()
	p.cancels(cancelledLater, a)
	p.cancels(cancelled, d)
	p.n.paid(p.g, paidLater, b)
	p.n.paid(p.g, paid, c)
	lost := p.users - 12
	p.fail()
	if n := p.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", p.sale.ID); n != 12 {
		t.Fatalf("the replica has %d orders; want the 12 that it had applied", n)
	}
	failed := time.Now()
	kit.Eventually(t, patience, func() (bool, string) {
		n := p.n.metric("stampede_redo_orders_total")
		return int(n) == lost, fmt.Sprintf("%v orders written again, want %d", n, lost)
	})
	t.Logf("%d lost orders were written again %v after the promotion", lost, time.Since(failed).Round(time.Millisecond))
	p.n.becomes(cancelledLater.ID, a, app.Cancelled)
	p.n.becomes(paidLater.ID, b, app.Paid)
	p.n.becomes(paid.ID, c, app.Paid)
	p.n.becomes(cancelled.ID, d, app.Cancelled)
	p.sell(10)
	p.audit(p.sale)
	p.onePerBuyer(p.sale, p.users)
	if taken, refunded := p.g.ledger(); taken != paid.AmountFen+paidLater.AmountFen || refunded != 0 {
		t.Errorf("the gateway took %d and gave back %d", taken, refunded)
	}
	if out, code := p.run("redo"); code != 0 || !strings.HasPrefix(out, "0 orders written again, 0 ended again, 0 paid") {
		t.Errorf("a second redo exits %d: %s", code, out)
	}
}
