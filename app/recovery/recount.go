package recovery

import (
	"context"
	"fmt"
	"log/slog"

	"stampede/app/shop"
)

// recount adds up the holds of a sale during one cycle of the scan, to find counts without a hold and rows without a
// hold:
//
//	free units in the database → mark → holds and their rows, page by page → differences
//	    the next cycle finds the same → free units → correct, if the mark is unchanged (one script)
//
// A difference is valid if two consecutive cycles found it and nothing has changed meanwhile. In Redis, the mark proves
// this; in the database, the free units. The database takes units only for entries in progress, which are absent here,
// and for holds, which change the mark. So equal free units mean that no order has ended.
type recount struct {
	sale shop.SaleRef
	mark shop.HoldsMark
	seen map[shop.ID]bool // a scan may return a hold twice
	difference
	unresolved bool // a late payment may be about to take a hold: the state of its order is not final
}

// difference has the compared values of a recount; two recounts with the same result are equal.
type difference struct {
	free        int64 // free units according to the stock guard of the database, read before the cycle
	held, sold  int64 // sums of the holds
	unexplained int   // holds without a matching row
}

// suspicion is the difference that the last cycle found in a sale.
type suspicion struct {
	mark shop.HoldsMark
	difference
	alerted bool // operators were alerted
}

// beginRecount starts the recount of a sale; nil: the sale cannot be counted now.
func (r *Reconciler) beginRecount(ctx context.Context, sale shop.SaleRef, free map[shop.ID]int64) (*recount, error) {
	units, known := free[sale.ID]
	if !known {
		return nil, nil
	}
	mark, err := r.Redis.Stock().HoldsMark(ctx, sale)
	if err != nil {
		return nil, fmt.Errorf("mark the holds of sale %s: %w", sale.ID, err)
	}
	return newRecount(sale, mark, units), nil
}

func newRecount(sale shop.SaleRef, mark shop.HoldsMark, free int64) *recount {
	if !mark.Loaded || mark.Done != mark.Tickets {
		return nil // reservations without a row are in progress
	}
	return &recount{sale: sale, mark: mark, seen: make(map[shop.ID]bool), difference: difference{free: free}}
}

// add counts holds and compares them with their rows.
func (r *recount) add(holds []shop.OpenHold, rows []shop.Order) {
	if r == nil {
		return
	}
	found := shop.ByID(rows)
	for _, h := range holds {
		if r.seen[h.Order] {
			continue
		}
		r.seen[h.Order] = true
		if h.Sold {
			r.sold += int64(h.Qty)
		} else {
			r.held += int64(h.Qty)
		}
		row := found[h.Order]
		r.unresolved = r.unresolved || row != nil && row.RevivalPending()
		if row == nil || !rowMatchesHold(row, &h) {
			r.unexplained++
		}
	}
}

// rowMatchesHold reports whether the row matches the hold.
func rowMatchesHold(row *shop.Order, h *shop.OpenHold) bool {
	return row.HoldsUnits() && row.State != shop.Refunded && row.State.Sold() == h.Sold &&
		row.Hold == h.Hold && row.Qty == h.Qty
}

// stock returns the units that would be free in Redis if only holds and withdrawals were taken.
func (r *recount) stock() int64 {
	return r.mark.Initial + r.mark.Added - r.mark.Withdrawn - r.held - r.sold
}

// matches reports whether counters, holds and rows agree.
func (r *recount) matches() bool {
	return r.mark.Held == r.held && r.mark.Sold == r.sold && r.mark.Stock == r.stock() && r.proven()
}

// proven reports whether committed rows prove that the holds are all taken units: each hold has its row, and the units
// that the guard counts as taken are those of the holds and of refunds. Then the units by which a counter exceeds
// the holds belong to no order.
func (r *recount) proven() bool {
	return r.unexplained == 0 && r.stock() >= 0 && r.free == r.stock()+r.mark.Burnt
}

// correction returns the counters that equal the sums of the holds.
func (r *recount) correction() shop.Correction {
	return shop.Correction{At: r.mark, Held: r.held, Sold: r.sold, Stock: r.stock()}
}

// conclusion is the result of a recount, unless the free units in the database or the holds have changed meanwhile.
type conclusion int

const (
	noChange conclusion = iota
	correctCounters
	alertOperators
)

// conclusionOf compares a recount with the last one of the sale.
func (r *Reconciler) conclusionOf(c *recount) conclusion {
	switch {
	case c == nil || c.unresolved:
		return noChange
	case c.matches():
		r.clearSuspicion(c.sale.ID)
		return noChange
	case !r.foundAgain(c):
		return noChange
	case c.proven():
		return correctCounters
	default:
		return alertOperators
	}
}

// conclude ends a cycle over the holds of a sale.
func (r *Reconciler) conclude(ctx context.Context, c *recount) error {
	found := r.conclusionOf(c)
	if found == noChange {
		return nil
	}
	free, err := r.Store.Sales().FreeUnits(ctx, []shop.ID{c.sale.ID})
	if err != nil {
		return fmt.Errorf("read the free units of sale %s: %w", c.sale.ID, err)
	}
	if free[c.sale.ID] != c.free {
		return nil
	}
	if found == alertOperators {
		return r.reportDifference(ctx, c)
	}
	corrected, err := r.Redis.Stock().Correct(ctx, c.sale, c.correction())
	if err != nil {
		return fmt.Errorf("correct the counters of sale %s: %w", c.sale.ID, err)
	}
	if corrected {
		r.clearSuspicion(c.sale.ID)
		r.corrected.Add(1)
		slog.ErrorContext(ctx, "corrected the counters of a sale: they differed from the sums of its holds", "sale", c.sale.ID,
			"held", c.mark.Held, "holds_held", c.held, "sold", c.mark.Sold, "holds_sold", c.sold, "stock", c.mark.Stock,
			"stock_now", c.stock())
	}
	return nil
}

// reportDifference reports a difference that no row proves, once, and does not repair it.
func (r *Reconciler) reportDifference(ctx context.Context, c *recount) error {
	mark, err := r.Redis.Stock().HoldsMark(ctx, c.sale)
	if err != nil || mark != c.mark {
		return err
	}
	if r.firstAlert(c.sale.ID) {
		slog.ErrorContext(ctx,
			"the holds and rows of a sale differ; run `stampede audit` and see deploy/RUNBOOK.md",
			"sale", c.sale.ID, "held", c.mark.Held, "holds_held", c.held, "sold", c.mark.Sold, "holds_sold", c.sold,
			"holds_without_row", c.unexplained, "stock", c.mark.Stock, "free_in_database", c.free, "burnt",
			c.mark.Burnt)
	}
	return nil
}

// foundAgain reports whether the last cycle found the same difference, and stores the difference of this cycle.
func (r *Reconciler) foundAgain(c *recount) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.suspicions[c.sale.ID]
	if known && before.mark == c.mark && before.difference == c.difference {
		return true
	}
	if r.suspicions == nil {
		r.suspicions = make(map[shop.ID]suspicion)
	}
	r.suspicions[c.sale.ID] = suspicion{mark: c.mark, difference: c.difference, alerted: before.alerted}
	return false
}

func (r *Reconciler) clearSuspicion(sale shop.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.suspicions, sale)
}

// firstAlert reports whether this is the first alert for this sale.
func (r *Reconciler) firstAlert(sale shop.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.suspicions[sale]
	alerted := s.alerted
	s.alerted = true
	r.suspicions[sale] = s
	return !alerted
}

// Mismatched returns the number of sales for which this node found that holds and rows differ. An operator must check
// these sales.
func (r *Reconciler) Mismatched() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.suspicions {
		if s.alerted {
			n++
		}
	}
	return n
}

// Corrected returns how often this node has set counters to the sums of their holds. Each correction proves an earlier
// defect.
func (r *Reconciler) Corrected() int64 { return r.corrected.Load() }
