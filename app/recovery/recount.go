package recovery

import (
	"context"
	"fmt"
	"log/slog"

	"stampede/app/shop"
)

// recount adds up the holds of a sale during one turn of the scan, to find counts without a hold and rows without one:
//
//	units left in the database → mark → holds and their rows, page by page → what is wrong
//	the next turn finds the very same → units left → correct, if the mark is still the same (one script)
//
// A difference counts if two turns in a row found it and nothing has moved meanwhile: in Redis by the mark, in the
// database by the units left. Units are taken there only for entries under way, of which there are none, and for holds,
// which move the mark; so equal units left mean that no order has ended.
type recount struct {
	sale shop.SaleRef
	mark shop.HoldsMark
	seen map[shop.ID]bool // a scan may show a hold twice
	wrong
	unresolved bool // late money may be about to take a hold: its order says nothing yet
}

// wrong is what a recount compares; two recounts that found the same are equal.
type wrong struct {
	free        int64 // units that the database's guard had left before the turn
	held, sold  int64 // what the holds add up to
	unexplained int   // holds without a row that says the same
}

// suspicion is what the last turn found wrong with a sale.
type suspicion struct {
	mark shop.HoldsMark
	wrong
	told bool // people were told
}

// begin starts the recount of a sale; nil when it cannot be counted now.
func (r *Reconciler) begin(ctx context.Context, sale shop.SaleRef, free map[shop.ID]int64) (*recount, error) {
	units, known := free[sale.ID]
	if !known {
		return nil, nil
	}
	mark, err := r.Redis.Mark(ctx, sale)
	if err != nil {
		return nil, fmt.Errorf("mark the holds of sale %s: %w", sale.ID, err)
	}
	if !mark.Loaded || mark.Done != mark.Tickets {
		return nil, nil // reservations without a row are under way
	}
	return &recount{sale: sale, mark: mark, seen: make(map[shop.ID]bool), wrong: wrong{free: units}}, nil
}

// add counts holds beside their rows.
func (c *recount) add(holds []shop.OpenHold, rows []shop.Order) {
	if c == nil {
		return
	}
	found := shop.ByID(rows)
	for _, h := range holds {
		if c.seen[h.Order] {
			continue
		}
		c.seen[h.Order] = true
		if h.Sold {
			c.sold += int64(h.Qty)
		} else {
			c.held += int64(h.Qty)
		}
		row := found[h.Order]
		c.unresolved = c.unresolved || row != nil && row.Reviving()
		if row == nil || !explains(row, &h) {
			c.unexplained++
		}
	}
}

// explains reports whether the row is why the hold is there, as it is.
func explains(row *shop.Order, h *shop.OpenHold) bool {
	return row.HoldsUnits() && row.State != shop.Refunded && row.State.Sold() == h.Sold &&
		row.Hold == h.Hold && row.Qty == h.Qty
}

// stock is what would be free in Redis if nothing but the holds and what is withdrawn were taken.
func (c *recount) stock() int64 {
	return c.mark.Initial + c.mark.Added - c.mark.Withdrawn - c.held - c.sold
}

// fits reports whether counters, holds and rows say the same.
func (c *recount) fits() bool {
	return c.mark.Held == c.held && c.mark.Sold == c.sold && c.mark.Stock == c.stock() && c.proven()
}

// proven reports whether committed rows say that the holds are all that is taken: each hold has its row, and what the
// guard counts as taken is what they hold and what was refunded. Then a count beyond them belongs to nobody.
func (c *recount) proven() bool {
	return c.unexplained == 0 && c.stock() >= 0 && c.free == c.stock()+c.mark.Burnt
}

// conclude ends a turn through the holds of a sale.
func (r *Reconciler) conclude(ctx context.Context, c *recount) error {
	if c == nil || c.unresolved {
		return nil
	}
	if c.fits() {
		r.trust(c.sale.ID)
		return nil
	}
	if !r.again(c) {
		return nil
	}
	free, err := r.Store.FreeUnits(ctx, []shop.ID{c.sale.ID})
	if err != nil {
		return fmt.Errorf("read what sale %s has left: %w", c.sale.ID, err)
	}
	if free[c.sale.ID] != c.free {
		return nil
	}
	if !c.proven() {
		return r.alarm(ctx, c)
	}
	corrected, err := r.Redis.Correct(ctx, c.sale, shop.Correction{
		At: c.mark, Held: c.held, Sold: c.sold, Stock: c.stock(),
	})
	if err != nil {
		return fmt.Errorf("correct the counters of sale %s: %w", c.sale.ID, err)
	}
	if corrected {
		r.trust(c.sale.ID)
		r.corrected.Add(1)
		slog.ErrorContext(ctx, "the counters of a sale were not the sums of its holds; corrected", "sale", c.sale.ID,
			"held", c.mark.Held, "holds_held", c.held, "sold", c.mark.Sold, "holds_sold", c.sold, "stock", c.mark.Stock,
			"stock_now", c.stock())
	}
	return nil
}

// alarm tells people, once, of what no row proves: that is not decided about here.
func (r *Reconciler) alarm(ctx context.Context, c *recount) error {
	mark, err := r.Redis.Mark(ctx, c.sale)
	if err != nil || mark != c.mark {
		return err
	}
	if r.tellOnce(c.sale.ID) {
		slog.ErrorContext(ctx,
			"holds and rows of a sale do not agree; `stampede audit` says more, deploy/RUNBOOK.md what to do",
			"sale", c.sale.ID, "held", c.mark.Held, "holds_held", c.held, "sold", c.mark.Sold, "holds_sold", c.sold,
			"holds_without_row", c.unexplained, "stock", c.mark.Stock, "free_in_database", c.free, "burnt",
			c.mark.Burnt)
	}
	return nil
}

// again reports whether the last turn has found the same wrong, and remembers what this one did.
func (r *Reconciler) again(c *recount) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.suspicions[c.sale.ID]
	if known && before.mark == c.mark && before.wrong == c.wrong {
		return true
	}
	if r.suspicions == nil {
		r.suspicions = make(map[shop.ID]suspicion)
	}
	r.suspicions[c.sale.ID] = suspicion{mark: c.mark, wrong: c.wrong, told: before.told}
	return false
}

func (r *Reconciler) trust(sale shop.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.suspicions, sale)
}

// tellOnce reports whether people were not told before that this sale is wrong.
func (r *Reconciler) tellOnce(sale shop.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.suspicions[sale]
	told := s.told
	s.told = true
	r.suspicions[sale] = s
	return !told
}

// Mismatched is how many sales have holds and rows that do not agree, as this node has found: people have to look.
func (r *Reconciler) Mismatched() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.suspicions {
		if s.told {
			n++
		}
	}
	return n
}

// Corrected is how often this node has set counters to the sums of their holds. Each time there was a defect before.
func (r *Reconciler) Corrected() int64 { return r.corrected.Load() }
