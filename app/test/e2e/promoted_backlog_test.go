package e2e

import (
	"fmt"
	"testing"

	"stampede/app"
	"stampede/app/test/kit"
)

// settles waits until the sale has so many rows, and looks that none of them is refused.
func (p *promotion) settles(rows int64) {
	p.t.Helper()
	kit.Eventually(p.t, patience, func() (bool, string) {
		n := p.rowsOf(&p.sale)
		return n == rows, fmt.Sprintf("%d rows, want %d", n, rows)
	})
	p.portionsDrained(&p.sale)
	refused := p.count("SELECT COUNT(*) FROM orders WHERE (sale_id = ? OR portion_of = ?) AND state = 'refused'",
		p.sale.ID, p.sale.ID)
	if refused > 0 {
		p.t.Errorf("%d of %d orders are refused, though Redis had units for them", refused, rows)
	}
	p.redoesNothing()
	p.audit(p.sale)
}

// P1, P2: while the database is away people buy units that its replica has never heard of, because an operator had
// added them. The entries that wait for it are there before anybody has given it the units back; none is refused for
// want of them.
func TestBacklogWaitsForAddedUnitsOfAPromotedDatabase(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, false, 10)
	p.sell(6)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()
	if out, code := p.run("sale", "add-stock", p.sale.ID.String(), "30"); code != 0 {
		t.Fatalf("add-stock exits %d: %s", code, out)
	}
	buyers := crowd(t, 25, p.n)
	p.primary.Kill()
	if accepted := rush(t, buyers, p.sale.ID, 1); len(accepted) != 25 {
		t.Fatalf("%d of 25 buyers were accepted", len(accepted))
	}
	p.promote()
	p.settles(31)
}

// P1, P2: the same where the units had moved to the portion that they are bought from.
func TestBacklogWaitsForMovedUnitsOfAPromotedDatabase(t *testing.T) {
	t.Parallel()
	p := newPair(t, false)
	p.sale = p.spread(40, 1, 4)
	p.n = p.start()
	rush(t, residents(t, &p.sale, 2, 8, p.n), p.sale.ID, 1) // its portion has ten
	p.portionsDrained(&p.sale)
	p.replica.CatchUp(p.primary)
	p.replica.StopApplying()

	moved := rush(t, residents(t, &p.sale, 2, 24, p.n), p.sale.ID, 1)
	if len(moved) != 24 {
		t.Fatalf("%d of 24 buyers were accepted", len(moved))
	}
	p.portionsDrained(&p.sale)
	for user, receipt := range moved { // their units are free again, where they have moved to
		p.cancels(app.Order{ID: receipt.Order}, token(t, user))
	}
	buyers := residents(t, &p.sale, 2, 12, p.n)
	p.primary.Kill()
	if accepted := rush(t, buyers, p.sale.ID, 1); len(accepted) != 12 {
		t.Fatalf("%d of 12 buyers were accepted", len(accepted))
	}
	p.promote()
	p.settles(8 + 24 + 12)
}
