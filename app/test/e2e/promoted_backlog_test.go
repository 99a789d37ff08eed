package e2e

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// awaitRows waits until the sale has the given number of rows, and checks that none of them is refused.
func (p *promotion) awaitRows(rows int64) {
	p.t.Helper()
	kit.Eventually(p.t, waitTimeout, func() (bool, string) {
		n := p.rowsOf(&p.sale)
		return n == rows, fmt.Sprintf("%d rows, want %d", n, rows)
	})
	p.awaitDrained(p.sale)
	refused := p.count("SELECT COUNT(*) FROM orders WHERE sale_id = ? AND state = 'refused'", p.sale.ID)
	if refused > 0 {
		p.t.Errorf("%d of %d orders are refused, want 0: Redis had units for them", refused, rows)
	}
	p.requireNothingToRecover()
	p.audit(p.sale)
}

// P1, P2: an operator adds units, and the database replica does not receive the change. Buyers buy these units while
// the database is down. Their entries wait for the promoted database, before recovery restores the units in it. No
// entry may be refused for missing units.
func TestBacklogWaitsForAddedUnitsOfAPromotedDatabase(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 10)
	p.sell(6)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()
	if out, code := p.n.run("sale", "add-stock", p.sale.ID.String(), "30"); code != 0 {
		t.Fatalf("add-stock exits %d: %s", code, out)
	}
	buyers := crowd(t, 25, p.n)
	p.primary.Kill()
	if accepted := buyAtOnce(t, buyers, p.sale.ID, 1); len(accepted) != 25 {
		t.Fatalf("%d of 25 buyers were accepted", len(accepted))
	}
	p.promote()
	p.awaitRows(31)
}

// P1, P2: the promoted replica stopped applying before the sale was loaded, or before its partition was opened.
func TestPromotedDatabaseRecoversLoadedSale(t *testing.T) {
	t.Parallel()
	for name, opened := range map[string]bool{"the sale": true, "the sale and the partitions": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, false)
			if opened {
				p.start().stop()
			}
			p.sale = p.open(30, 1)
			p.replica.CatchUp(p.primary)
			p.replica.StopApplying()
			p.n = p.start()
			if accepted := buyAtOnce(t, crowd(t, 20, p.n), p.sale.ID, 1); len(accepted) != 20 {
				t.Fatalf("%d of 20 buyers were accepted", len(accepted))
			}
			p.awaitDrained(p.sale)
			p.failPrimary()
			if loaded := p.count("SELECT COUNT(*) FROM sales WHERE epoch > 0"); loaded > 0 {
				t.Fatalf("the replica has %d sales with an epoch, want 0", loaded)
			}
			p.awaitRows(20)
			p.sell(10)
			who := token(t, kit.NewID())
			kit.Eventually(t, waitTimeout, func() (bool, string) {
				status, text := p.n.post("/api/v1/sales/"+p.sale.ID.String()+"/buy", who,
					map[string]any{"qty": 1, "key": "one-too-many"})
				return strings.Contains(string(text), string(shop.SoldOut)),
					fmt.Sprintf("a buy after the last unit returns %d %s, want %s", status, text, shop.SoldOut)
			})
			p.awaitRows(30)
		})
	}
}
