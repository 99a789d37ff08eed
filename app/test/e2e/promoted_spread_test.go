package e2e

import (
	"fmt"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// redone waits until the nodes have written so many orders again.
func (p *promotion) redone(want int) {
	p.t.Helper()
	kit.Eventually(p.t, patience, func() (bool, string) {
		n := p.n.metric("stampede_redo_orders_total")
		return int(n) == want, fmt.Sprintf("%v orders written again, want %d", n, want)
	})
	p.redoesNothing()
}

// redoesNothing has somebody look once more by hand.
func (p *promotion) redoesNothing() {
	p.t.Helper()
	out, code := p.run("redo")
	if code != 0 || !strings.HasPrefix(out, "0 orders written again, 0 ended again, 0 paid") {
		p.t.Errorf("a second redo exits %d: %s", code, out)
	}
}

// P1, P2, P8: a spread sale whose buyers are all at home in one portion has moved units there, and the promoted replica
// has forgotten that, and the orders that took them. Each order has its row again, none is refused for want of units,
// and what is left is sold to the last unit.
func TestPromotedDatabaseGetsBackMovesOfASpreadSale(t *testing.T) {
	t.Parallel()
	p := newPair(t, false)
	p.sale = p.spread(40, 1, 4)
	p.n = p.start()
	rush(t, residents(t, &p.sale, 2, 8, p.n), p.sale.ID, 1) // its portion has ten
	p.portionsDrained(&p.sale)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()

	if accepted := rush(t, residents(t, &p.sale, 2, 24, p.n), p.sale.ID, 1); len(accepted) != 24 {
		t.Fatalf("%d of 24 buyers were accepted", len(accepted))
	}
	p.portionsDrained(&p.sale)
	p.fail()
	if n := p.rowsOf(&p.sale); n != 8 {
		t.Fatalf("the replica has %d orders; want the 8 that it had applied", n)
	}
	p.redone(24)
	if accepted := rush(t, residents(t, &p.sale, 0, 12, p.n), p.sale.ID, 1); len(accepted) != 8 {
		t.Errorf("%d of 12 buyers were accepted afterwards, want 8, as many as there are units", len(accepted))
	}
	p.portionsDrained(&p.sale)
	p.audit(p.sale)
	if n := p.rowsOf(&p.sale); n != 40 {
		t.Errorf("%d rows, want 40", n)
	}
}

// P1, P2: the promoted replica does not even know that the sale was loaded, or that its partition is: it stood still
// from before.
func TestPromotedDatabaseLearnsThatASaleWasLoaded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		portions int
		opened   bool // the partitions, as far as the replica knows
	}{
		"the sale":                  {0, true},
		"a spread sale":             {3, true},
		"the sale and partitions":   {0, false},
		"a spread sale, partitions": {3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, false)
			if c.opened {
				p.start().stop()
			}
			p.sale = p.spread(30, 1, c.portions) // 0: it is not spread
			p.replica.CatchUp(p.primary)
			p.replica.StopApplying()
			p.n = p.start()
			if accepted := rush(t, residents(t, &p.sale, 0, 20, p.n), p.sale.ID, 1); len(accepted) != 20 {
				t.Fatalf("%d of 20 buyers were accepted", len(accepted))
			}
			p.portionsDrained(&p.sale)
			p.fail()
			if loaded := p.count("SELECT COUNT(*) FROM sales WHERE epoch > 0"); loaded > 0 {
				t.Fatalf("the replica knows of %d sales that they were loaded", loaded)
			}
			kit.Eventually(t, patience, func() (bool, string) {
				n := p.rowsOf(&p.sale)
				return n == 20, fmt.Sprintf("%d rows, want 20", n)
			})
			if accepted := rush(t, residents(t, &p.sale, 0, 15, p.n), p.sale.ID, 1); len(accepted) != 10 {
				t.Errorf("%d of 15 buyers were accepted afterwards, want 10", len(accepted))
			}
			p.portionsDrained(&p.sale)
			p.audit(p.sale)
			if n := p.rowsOf(&p.sale); n != 30 {
				t.Errorf("%d rows, want 30", n)
			}
			p.redoesNothing()
		})
	}
}
