package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/trace"
)

// Fulfiller is flow 2: entries of the stream become rows, and their buyers are notified. The order of the steps makes a
// crash between any two steps harmless (I4):
//
//	COMMIT → units of refused orders go back → deadlines, message and acknowledgement in one step
//
// A row is written once, because its ID is unique. Until its first state is published, its entry stays pending and is
// redelivered. If Redis loses the entry, the recovery renews the change timestamp of the row.
type Fulfiller struct {
	Catalogue *catalog.Catalogue
	Stock     Stock
	Store     Store
	Effects   *Effects
	PayWindow time.Duration
	Tracer    *trace.Tracer // nil: no tracing

	hidden atomic.Int64 // settled entries of hidden sales
}

// Fulfil settles a batch of one partition. See streams.EntryHandler.
func (f *Fulfiller) Fulfil(ctx context.Context, entries []shop.Entry) (verdicts []error, err error) {
	spans := f.startSpans(entries)
	defer func() { spans.finish(verdicts, err) }()
	until := f.writeDeadline()
	now, err := f.Stock.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	verdicts = make([]error, len(entries))
	// A batch may span a recovery, so its entries may have different epochs. Each epoch is written separately.
	byEpoch := make(map[int64][]int, 1)
	for i, e := range entries {
		if e.ParseErr != nil {
			verdicts[i] = fmt.Errorf("%w: unreadable entry: %w", shop.ErrPermanent, e.ParseErr)
			continue
		}
		byEpoch[e.Epoch] = append(byEpoch[e.Epoch], i)
	}
	for epoch, batch := range byEpoch {
		w := batchWrite{epoch: epoch, now: now, until: until, entries: entries, verdicts: verdicts, spans: spans}
		if err := f.write(ctx, &w, batch); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// writeDeadline returns the deadline for writing rows whose time to pay starts now. At least half of that time must
// remain when a stalled database commits.
func (f *Fulfiller) writeDeadline() time.Time { return time.Now().Add(max(f.PayWindow/2, time.Second)) }

// batchWrite has the data for writing the entries of one epoch of a batch.
type batchWrite struct {
	epoch    int64
	now      shop.Millis // Redis time, from which the deadlines count
	until    time.Time   // end of the insert: rows that are not written by then would have too little time to pay
	entries  []shop.Entry
	verdicts []error // per entry; nil means settled
	spans    batchSpans
}

// dropSale removes the entries of a stuck sale from the batch, so that only these entries wait.
func (w *batchWrite) dropSale(batch []int, stuck *shop.StuckSale) []int {
	return slices.DeleteFunc(slices.Clone(batch), func(position int) bool {
		waits := w.entries[position].Sale == stuck.Sale
		if waits {
			w.verdicts[position] = stuck
		}
		return waits
	})
}

// write inserts the entries at the positions in `batch`. After a permanent fault it halves the batch until the bad
// entry is alone. Only then the fault becomes the verdict of that entry.
func (f *Fulfiller) write(ctx context.Context, w *batchWrite, batch []int) error {
	if len(batch) == 0 {
		return nil
	}
	writeCtx, cancel := context.WithDeadline(ctx, w.until)
	defer cancel()
	rows := make([]shop.NewOrder, len(batch))
	for i, position := range batch {
		row, err := f.row(writeCtx, &w.entries[position])
		if err != nil {
			return err
		}
		row.PayBy = w.now.Add(f.PayWindow)
		row.InsertedAt = w.now
		rows[i] = row
	}
	finished := w.spans.step("commit", batch)
	inserted, err := f.Store.Insert(writeCtx, w.epoch, rows)
	finished(err)
	var stuck *shop.StuckSale
	switch {
	case err == nil:
		return f.finish(ctx, w, batch, inserted)
	case errors.As(err, &stuck):
		return f.write(ctx, w, w.dropSale(batch, stuck))
	case !errors.Is(err, shop.ErrPermanent):
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

// row returns the pending order for an entry.
func (f *Fulfiller) row(ctx context.Context, e *shop.Entry) (shop.Order, error) {
	o := e.Row()
	sale, err := f.Catalogue.Sale(ctx, e.Sale)
	switch {
	case err == nil:
		o.ProductName = sale.Product.Name
	case !errors.Is(err, &shop.Error{Code: shop.NotFound}): // the store rejects orders of an unknown sale
		return shop.Order{}, fmt.Errorf("read sale %s: %w", e.Sale, errors.Join(shop.ErrTransient, err))
	}
	return o, nil
}

// finish performs the effects of the committed rows of a batch and acknowledges their entries.
func (f *Fulfiller) finish(ctx context.Context, w *batchWrite, batch []int, inserted []shop.Inserted) error {
	entries := make([]*shop.Entry, len(batch))
	for i, position := range batch {
		entries[i] = w.spans.withParentSpan(position, &w.entries[position])
	}
	finished := w.spans.step("finish.lua", batch)
	err := f.Effects.Finish(ctx, entries[0].Partition, w.now, unpublishedRows(inserted), entries)
	finished(err)
	if err == nil {
		for _, e := range entries {
			if f.Catalogue.IsHidden(e.Sale) {
				f.hidden.Add(1)
			}
		}
	}
	return err
}

// Hidden returns how many entries of hidden sales this node has settled since the start.
func (f *Fulfiller) Hidden() int64 { return f.hidden.Load() }

// unpublishedRows returns the rows to finish. It omits rows that have a later state that is already published.
func unpublishedRows(inserted []shop.Inserted) []*shop.Order {
	rows := make([]*shop.Order, 0, len(inserted))
	for i := range inserted {
		if o := &inserted[i].Order; o.Rev == shop.FirstRev || o.PublishedRev < o.Rev {
			rows = append(rows, o)
		}
	}
	return rows
}

// Refuse writes the refused row of an entry that failed permanently. See streams.EntryHandler.
func (f *Fulfiller) Refuse(ctx context.Context, e shop.Entry, reason string) error {
	if e.ParseErr != nil || e.Order == 0 {
		return nil // only the stream ID of the entry is known, and the dead letter stores it
	}
	now, err := f.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", errors.Join(shop.ErrTransient, err))
	}
	inserted, err := f.refusedRow(ctx, e, reason, now)
	if err != nil {
		return err
	}
	return f.Effects.Finish(ctx, e.Partition, now, unpublishedRows(inserted), nil)
}

// refusedRow writes the refused row. If the buyer's texts cannot be stored, it omits them. A reservation whose ID
// belongs to another order gets no row. In this case the returned row is not stored; it only causes the return of the
// units and the notification of the buyer. The row of the other order is not read.
func (f *Fulfiller) refusedRow(
	ctx context.Context, e shop.Entry, reason string, now shop.Millis,
) ([]shop.Inserted, error) {
	row, err := f.row(ctx, &e)
	if err != nil {
		return nil, err
	}
	row.State, row.Reason, row.InsertedAt = shop.Refused, reason, now
	inserted, err := f.Store.Insert(ctx, e.Epoch, []shop.NewOrder{row})
	if errors.Is(err, shop.ErrIDTaken) {
		slog.ErrorContext(ctx, "reservation rejected without a row", "order", row.ID, "user", row.User,
			"sale", row.Sale, "ticket", row.Ticket, "err", err)
		row.PublishedRev, row.Touched = row.Rev, true
		return []shop.Inserted{{Order: row}}, nil
	}
	if errors.Is(err, shop.ErrPermanent) {
		row.Address, row.Key, row.ContentHash, row.ProductName = nil, "", "", ""
		inserted, err = f.Store.Insert(ctx, e.Epoch, []shop.NewOrder{row})
	}
	if err != nil {
		return nil, fmt.Errorf("refuse order %s: %w", e.Order, err)
	}
	return inserted, nil
}

// batchSpans has the spans of the traced entries of a batch, by position; nil in the usual case that no entry is
// traced.
type batchSpans map[int]*trace.Span

// startSpans starts the spans of the traced entries. The span `entry` covers the wait in the stream and ends now. Its
// child `fulfil` covers the work on the batch. Redelivered entries get new spans.
func (f *Fulfiller) startSpans(entries []shop.Entry) batchSpans {
	if f.Tracer == nil {
		return nil
	}
	var s batchSpans
	for i := range entries {
		e := &entries[i]
		waited := f.Tracer.Follow(e.Trace, "entry", e.ReservedAt.Time())
		if waited == nil {
			continue
		}
		waited.NoteID("order", int64(e.Order))
		waited.NoteID("sale", int64(e.Sale))
		waited.NoteNumber("partition", int64(e.Partition))
		waited.Note("entry", e.StreamID)
		if s == nil {
			s = make(batchSpans)
		}
		s[i] = waited.Child("fulfil")
		s[i].NoteNumber("entries", int64(len(entries)))
		waited.FinishAt(s[i].Begin, nil)
	}
	return s
}

// step starts a span for a step of the batch in each trace and returns the function that ends these spans.
func (s batchSpans) step(name string, batch []int) (finish func(err error)) {
	if s == nil {
		return func(error) {}
	}
	var steps []*trace.Span
	for _, position := range batch {
		if span := s[position]; span != nil {
			steps = append(steps, span.Child(name))
		}
	}
	return func(err error) {
		now := time.Now()
		for _, span := range steps {
			span.FinishAt(now, err)
		}
	}
}

// finish ends the spans of a batch with the error of the whole batch, or with the verdict of each entry.
func (s batchSpans) finish(verdicts []error, err error) {
	now := time.Now()
	for position, span := range s {
		failed := err
		if failed == nil {
			failed = verdicts[position]
		}
		span.FinishAt(now, failed)
	}
}

// withParentSpan returns the entry for the next step: if the entry has a span, that span becomes the parent of later
// spans.
func (s batchSpans) withParentSpan(position int, e *shop.Entry) *shop.Entry {
	span := s[position]
	if span == nil {
		return e
	}
	traced := *e
	traced.Trace = &span.SpanRef
	return &traced
}
