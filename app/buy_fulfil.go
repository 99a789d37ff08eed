package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stampede/app/crashpoint"
)

// Fulfiller is flow 2: entries of the stream become rows, and their buyers hear of it. The order of its steps
// is what makes a crash between any two of them harmless (I4):
//
//	COMMIT → units of refused orders go back → deadline → event → (consumer) acknowledge
//
// Every step may happen again: rows are written once by their id, returns are keyed by (order, hold),
// a deadline that is there stays, an event is recognised by (order, rev).
//
// The event of a new row needs no mark in the row: its entry is not acknowledged before it is told, and comes again if
// nobody did. Should the entry be lost with Redis, the rebuild tells of the row (see Rebuild).
type Fulfiller struct {
	Catalogue *Catalogue
	Inventory Inventory
	Orders    OrderStore
	Notifier  Notifier
	Told      *Told
	PayWindow time.Duration
}

// Fulfil settles a batch of one partition. See EntryHandler.
func (f *Fulfiller) Fulfil(ctx context.Context, entries []Entry) ([]error, error) {
	until := f.patience()
	now, err := f.Inventory.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read Redis time: %w", errors.Join(ErrTransient, err))
	}
	verdicts := make([]error, len(entries))
	// A batch may straddle a rebuild, so that its entries have different epochs; each is written alone.
	byEpoch := make(map[int64][]int, 1)
	for i, e := range entries {
		if e.Bad != nil {
			verdicts[i] = fmt.Errorf("%w: unreadable entry: %w", ErrPermanent, e.Bad)
			continue
		}
		byEpoch[e.Epoch] = append(byEpoch[e.Epoch], i)
	}
	for epoch, batch := range byEpoch {
		w := writing{epoch: epoch, now: now, until: until, entries: entries, verdicts: verdicts, then: f.after}
		if err := f.write(ctx, &w, batch); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// patience is until when rows may be written whose deadline is counted from now. A database that stands still and goes
// on would else commit orders whose time to pay is over: at least half of it must be left.
func (f *Fulfiller) patience() time.Time { return time.Now().Add(max(f.PayWindow/2, time.Second)) }

// writing is one pass over a batch.
type writing struct {
	epoch    int64
	now      Millis    // Redis time, from which the deadlines count
	until    time.Time // rows that are not written by then are given up: now is too long ago
	entries  []Entry
	verdicts []error // per entry; nil means settled
	then     func(ctx context.Context, inserted []Inserted) error
}

// without takes the entries of a sale whose row somebody keeps locked out of the batch: they wait, the others do not.
func (w *writing) without(batch []int, locked *LockedSale) []int {
	return slices.DeleteFunc(slices.Clone(batch), func(at int) bool {
		stuck := w.entries[at].Sale == locked.Sale
		if stuck {
			w.verdicts[at] = locked
		}
		return stuck
	})
}

// write inserts the entries at the positions in batch. A permanent fault halves the batch until the bad entry
// stands alone; only then does it count against that entry.
func (f *Fulfiller) write(ctx context.Context, w *writing, batch []int) error {
	if len(batch) == 0 {
		return nil
	}
	fresh, cancel := context.WithDeadline(ctx, w.until)
	defer cancel()
	rows := make([]NewOrder, len(batch))
	for i, at := range batch {
		row, err := f.row(fresh, &w.entries[at])
		if err != nil {
			return err
		}
		row.PayBy = w.now.Add(f.PayWindow)
		rows[i] = row
	}
	crashpoint.At(crashpoint.FulfilRow)
	inserted, err := f.Orders.Insert(fresh, w.epoch, rows)
	var locked *LockedSale
	switch {
	case err == nil:
		return w.then(ctx, inserted)
	case errors.As(err, &locked):
		return f.write(ctx, w, w.without(batch, locked))
	case !errors.Is(err, ErrPermanent):
		return fmt.Errorf("insert %d orders: %w", len(rows), err)
	case len(batch) == 1:
		w.verdicts[batch[0]] = fmt.Errorf("insert order %s: %w", rows[0].ID, err)
		return nil
	}
	half := len(batch) / 2
	if err := f.write(ctx, w, batch[:half]); err != nil {
		return err
	}
	return f.write(ctx, w, batch[half:])
}

// row is the pending order that an entry asks for.
func (f *Fulfiller) row(ctx context.Context, e *Entry) (Order, error) {
	o := Order{
		ID: e.Order, Sale: e.Sale, User: e.User, Partition: e.Partition, Qty: e.Qty,
		PriceFen: e.PriceFen, AmountFen: e.PriceFen * int64(e.Qty), State: Pending, Rev: 1,
		Ticket: e.Ticket, Seq: e.Seq, Hold: e.Hold, SaleVersion: e.SaleVersion, Key: e.Key, ContentHash: e.Hash,
		CreatedAt: e.ReservedAt,
	}
	if e.Address != "" {
		o.Address = new(Address)
		if err := json.Unmarshal([]byte(e.Address), o.Address); err != nil {
			o.Address = nil // the gate wrote it, so it reads; if not, the order is worth more than the line
		}
	}
	sale, err := f.Catalogue.Sale(ctx, e.Sale)
	switch {
	case err == nil:
		o.ProductName = sale.Product.Name
	case !errors.Is(err, &Error{Code: NotFound}): // an unknown sale is the order store's to refuse
		return Order{}, fmt.Errorf("read sale %s: %w", e.Sale, errors.Join(ErrTransient, err))
	}
	return o, nil
}

// after does what follows the commit, for rows just written and for those found there.
func (f *Fulfiller) after(ctx context.Context, inserted []Inserted) error {
	crashpoint.At(crashpoint.FulfilCommitted)
	rows := ordersOf(inserted)
	if err := giveBack(ctx, f.Inventory, rows); err != nil {
		return err
	}
	crashpoint.At(crashpoint.FulfilReturned)
	if err := f.schedule(ctx, rows); err != nil {
		return err
	}
	crashpoint.At(crashpoint.FulfilScheduled)
	if err := f.tell(ctx, inserted); err != nil {
		return err
	}
	crashpoint.At(crashpoint.FulfilTold)
	return nil
}

// tell appends the events of rows that were written now, and those of rows found there, which the one who wrote them
// may not have told.
func (f *Fulfiller) tell(ctx context.Context, inserted []Inserted) error {
	events := make([]OrderEvent, 0, len(inserted))
	var behind []OrderEvent // of a later state, whose mark is in the row
	for i := range inserted {
		o := &inserted[i].Order
		e := OrderEvent{Order: o, First: inserted[i].Fresh}
		switch {
		case o.ToldRev < o.Rev:
			behind = append(behind, e)
		case o.Rev == firstRev:
			events = append(events, e)
		}
	}
	if err := tellAll(ctx, f.Notifier, append(events, behind...)); err != nil {
		return err
	}
	f.Told.Add(behind)
	return nil
}

func (f *Fulfiller) schedule(ctx context.Context, rows []*Order) error {
	byPartition := make(map[int][]Deadline, 1)
	for _, o := range rows {
		if o.State == Pending {
			byPartition[o.Partition] = append(byPartition[o.Partition], Deadline{Order: o.ID, PayBy: o.PayBy})
		}
	}
	for partition, deadlines := range byPartition {
		if err := f.Inventory.Schedule(ctx, partition, deadlines); err != nil {
			return fmt.Errorf("schedule %d deadlines: %w", len(deadlines), errors.Join(ErrTransient, err))
		}
	}
	return nil
}

// Refuse gives an entry that failed for good its refused row, see EntryHandler.
func (f *Fulfiller) Refuse(ctx context.Context, e Entry, reason string) error {
	if e.Bad != nil || e.Order == 0 {
		return nil // nothing is known of it but its stream id; the dead letter keeps that
	}
	inserted, err := f.refusedRow(ctx, e, reason)
	if err != nil {
		return err
	}
	return f.after(ctx, inserted)
}

// refusedRow writes the refused row; when even that cannot be stored in full, one without the buyer's texts.
func (f *Fulfiller) refusedRow(ctx context.Context, e Entry, reason string) ([]Inserted, error) {
	row, err := f.row(ctx, &e)
	if err != nil {
		return nil, err
	}
	row.State, row.Reason = Refused, reason
	inserted, err := f.Orders.Insert(ctx, e.Epoch, []NewOrder{row})
	if errors.Is(err, ErrPermanent) {
		row.Address, row.Key, row.ContentHash, row.ProductName = nil, "", "", ""
		inserted, err = f.Orders.Insert(ctx, e.Epoch, []NewOrder{row})
	}
	if err != nil {
		return nil, fmt.Errorf("refuse order %s: %w", e.Order, err)
	}
	return inserted, nil
}

// rescue writes rows for entries of a partition that is being rebuilt. Nothing is returned or scheduled in Redis:
// its state is about to be made from these rows.
func (f *Fulfiller) rescue(ctx context.Context, epoch int64, entries []Entry) error {
	until := f.patience()
	now, err := f.Inventory.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(ErrTransient, err))
	}
	w := writing{epoch: epoch, now: now, until: until, entries: entries, verdicts: make([]error, len(entries)), then: f.tell}
	all := make([]int, len(entries))
	for i := range all {
		all[i] = i
	}
	if err := f.write(ctx, &w, all); err != nil {
		return err
	}
	for i, verdict := range w.verdicts {
		if verdict == nil {
			continue
		}
		if errors.Is(verdict, ErrTransient) {
			return verdict // its row is still to be written
		}
		inserted, err := f.refusedRow(ctx, entries[i], ReasonDead)
		if err != nil {
			return err
		}
		if err := f.tell(ctx, inserted); err != nil {
			return err
		}
	}
	return nil
}

// ordersOf points at the rows: copies of hundreds of them would be most of what a batch allocates.
func ordersOf(inserted []Inserted) []*Order {
	rows := make([]*Order, len(inserted))
	for i := range inserted {
		rows[i] = &inserted[i].Order
	}
	return rows
}

// pointers is the same for rows that were read.
func pointers(rows []Order) []*Order {
	out := make([]*Order, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

// giveBack returns the units of every row that ended without keeping them. Rows that never held anything any
// more change nothing: the return is keyed by (order, hold) (I3). The hold of an order that late money may be reviving
// is left to that flow.
func giveBack(ctx context.Context, inventory Inventory, rows []*Order) error {
	var returns []Return
	for _, o := range rows {
		if !o.HoldsUnits() && !o.reviving() {
			burn := o.State == Refused && (o.Reason == ReasonGuard || o.Reason == ReasonNoSale)
			returns = append(returns, Return{Sale: o.Ref(), Order: o.ID, Hold: o.Hold, Burn: burn})
		}
	}
	if len(returns) == 0 {
		return nil
	}
	if _, err := inventory.Return(ctx, returns); err != nil {
		return fmt.Errorf("return units of %d orders: %w", len(returns), errors.Join(ErrTransient, err))
	}
	return nil
}

// sell counts the units of orders that are paid as sold, once per (order, hold) (I3).
func sell(ctx context.Context, inventory Inventory, rows []Order) error {
	var sold []SoldHold
	for _, o := range rows {
		if o.State.Sold() && o.HoldsUnits() {
			sold = append(sold, SoldHold{Sale: o.Ref(), Order: o.ID, Hold: o.Hold})
		}
	}
	if len(sold) == 0 {
		return nil
	}
	if _, err := inventory.Sell(ctx, sold); err != nil {
		return fmt.Errorf("sell units of %d orders: %w", len(sold), errors.Join(ErrTransient, err))
	}
	return nil
}

// tell appends the events that the rows say were not told yet, and notes them as told.
func tell(ctx context.Context, notifier Notifier, told *Told, rows []Order) error {
	events := make([]OrderEvent, 0, len(rows))
	for i := range rows {
		if rows[i].ToldRev < rows[i].Rev {
			events = append(events, OrderEvent{Order: &rows[i]})
		}
	}
	if err := tellAll(ctx, notifier, events); err != nil {
		return err
	}
	told.Add(events)
	return nil
}

func tellAll(ctx context.Context, notifier Notifier, events []OrderEvent) error {
	if len(events) == 0 {
		return nil
	}
	if err := notifier.Tell(ctx, events); err != nil {
		return fmt.Errorf("tell %d events: %w", len(events), errors.Join(ErrTransient, err))
	}
	return nil
}
