package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

func (r *Redo) terms(ctx context.Context, sale *Sale, report *RedoReport) error {
	counters, err := r.Inventory.Counters(ctx, []SaleRef{sale.Ref()})
	if err != nil {
		return fmt.Errorf("read counters of sale %s: %w", sale.ID, err)
	}
	added, edited, err := learnTerms(ctx, r.Sales, r.Inventory, sale, counters[0])
	report.Added += added
	if edited {
		report.Edited++
	}
	return err
}

// rows writes the rows that entries of the stream lack.
func (r *Redo) rows(ctx context.Context, epoch int64, entries []Entry, report *RedoReport) error {
	missing, err := r.without(ctx, entries)
	if err != nil || len(missing) == 0 {
		return err
	}
	bySale := make(map[SaleRef][]Entry)
	for _, e := range missing {
		ref := SaleRef{ID: e.Sale, Partition: e.Partition}
		bySale[ref] = append(bySale[ref], e)
	}
	for sale, of := range bySale {
		if err := r.rowsOf(ctx, epoch, sale, of, report); err != nil {
			return err
		}
	}
	return nil
}

// without are the entries that have no row.
func (r *Redo) without(ctx context.Context, entries []Entry) ([]Entry, error) {
	ids := make([]ID, 0, len(entries))
	for i := range entries {
		if entries[i].Bad == nil {
			ids = append(ids, entries[i].Order)
		}
	}
	rows, err := r.Orders.OrdersByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	written := byID(rows)
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		return e.Bad != nil || written[e.Order] != nil
	}), nil
}

// rowsOf writes rows of one sale: pending ones for those that hold units, cancelled ones for those that had ended. The
// holds are read after the entries, so whoever has none has given it back.
func (r *Redo) rowsOf(ctx context.Context, epoch int64, sale SaleRef, entries []Entry, report *RedoReport) error {
	ids := make([]ID, len(entries))
	for i := range entries {
		ids[i] = entries[i].Order
	}
	holds, loaded, err := r.Redis.Standing(ctx, sale, ids)
	if err != nil {
		return fmt.Errorf("read holds of sale %s: %w", sale.ID, err)
	}
	if !loaded {
		for _, id := range ids {
			report.lacks(sale.ID, id, "its sale has left Redis, so nobody knows what became of the order")
		}
		return nil
	}
	var held, ended []Entry
	for _, e := range entries {
		e.Epoch = epoch
		if hold, ok := holds[e.Order]; ok {
			e.Hold = hold.Hold // a later one than the entry's, if the order was revived
			held = append(held, e)
		} else {
			ended = append(ended, e)
		}
	}
	written, verdicts, err := r.Fulfiller.again(ctx, epoch, held)
	if err != nil {
		return err
	}
	for i, verdict := range verdicts {
		if errors.Is(verdict, ErrTransient) {
			return verdict
		}
		if verdict != nil {
			report.lacks(sale.ID, held[i].Order, "its row cannot be written: "+verdict.Error())
		}
	}
	report.count(written)
	over, err := r.Fulfiller.ended(ctx, epoch, ended)
	report.count(over)
	report.Ended += len(over)
	return err
}

// count counts rows, and lists those that the database has refused.
func (r *RedoReport) count(written []Order) {
	for _, o := range written {
		if o.State == Refused {
			r.lacks(o.Sale, o.ID, "its row is refused: "+o.Reason)
		} else {
			r.Rows++
		}
	}
}

// again writes pending rows for entries whose rows the database has lost, and tells their buyers. They have all the
// time to pay once more: nobody could pay while the database was away. What was written by this call is answered, and a
// verdict for each entry, as of writing.
func (f *Fulfiller) again(ctx context.Context, epoch int64, entries []Entry) ([]Order, []error, error) {
	if len(entries) == 0 {
		return nil, nil, nil
	}
	until := f.patience()
	now, err := f.Inventory.Now(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read Redis time: %w", errors.Join(ErrTransient, err))
	}
	var written []Order
	w := writing{
		epoch: epoch, now: now, until: until, entries: entries, verdicts: make([]error, len(entries)),
		refuses: true,
		then: func(ctx context.Context, w *writing, _ []int, inserted []Inserted) error {
			written = append(written, freshOf(inserted)...)
			return f.Effects.Finish(ctx, entries[0].Partition, w.now, toFinish(inserted), nil)
		},
	}
	all := make([]int, len(entries))
	for i := range all {
		all[i] = i
	}
	err = f.write(ctx, &w, all)
	return written, w.verdicts, err
}

// ended writes cancelled rows for entries whose orders have ended, nobody knows how.
func (f *Fulfiller) ended(ctx context.Context, epoch int64, entries []Entry) ([]Order, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	now, err := f.Inventory.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read Redis time: %w", errors.Join(ErrTransient, err))
	}
	rows := make([]NewOrder, len(entries))
	for i := range entries {
		if rows[i], err = f.row(ctx, &entries[i]); err != nil {
			return nil, err
		}
		rows[i].State, rows[i].CancelledAt = Cancelled, now
	}
	inserted, err := f.Orders.Insert(ctx, epoch, rows)
	if err != nil {
		return nil, fmt.Errorf("write %d orders that had ended: %w", len(rows), err)
	}
	return freshOf(inserted), f.Effects.Finish(ctx, entries[0].Partition, now, toFinish(inserted), nil)
}

func freshOf(inserted []Inserted) []Order {
	var fresh []Order
	for i := range inserted {
		if inserted[i].Fresh {
			fresh = append(fresh, inserted[i].Order)
		}
	}
	return fresh
}
