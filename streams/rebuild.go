package streams

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stampede/app"
)

const (
	leftoverPage = 1000 // entries
	restorePart  = 500  // buyers or holds per call
)

// Pause marks the partition as rebuilding: from then on nothing is reserved, held or returned in it.
func (l *Inventory) Pause(ctx context.Context, partition int) error {
	_, err := l.run(ctx, pauseScript, partition, metaKey)
	return err
}

// Leftover walks through all entries that the old stream still has, oldest first, settled ones included.
func (l *Inventory) Leftover(ctx context.Context, partition int, each func([]app.Entry) error) error {
	k, err := l.keys(partition)
	if err != nil {
		return err
	}
	for from := "-"; ; {
		page, err := l.client.XRangeN(ctx, k.orders, from, "+", leftoverPage).Result()
		if err != nil {
			return fmt.Errorf("read old stream of partition %d: %w", partition, transient(err))
		}
		if len(page) == 0 {
			return nil
		}
		entries := make([]app.Entry, len(page))
		for i, m := range page {
			entries[i] = parseEntry(partition, m)
		}
		if err := each(entries); err != nil {
			return err
		}
		from = "(" + page[len(page)-1].ID
	}
}

// Restore replaces one sale with the state given, for the epoch that is to begin. Only between Pause and Resume;
// ErrStaleEpoch when a rebuild for a later one is under way.
func (l *Inventory) Restore(ctx context.Context, epoch int64, s app.SaleState) error {
	part := func(name string, args []any) error {
		args = append([]any{epoch, name}, args...)
		if _, err := l.run(ctx, restoreScript, s.Sale.Partition, saleKeys(s.Sale.ID), args...); err != nil {
			return fmt.Errorf("restore sale %s, part %s: %w", s.Sale.ID, name, err)
		}
		return nil
	}
	if err := part("sale", saleFields(s)); err != nil {
		return err
	}
	buyers, open := restored(s.Sale, s.Orders)
	for name, pairs := range map[string][]any{"buyers": buyers, "open": open} {
		for some := range slices.Chunk(pairs, 2*restorePart) {
			if err := part(name, some); err != nil {
				return err
			}
		}
	}
	return part("arm", []any{restAfterEmpty.Milliseconds()})
}

// restored makes the pairs of the buyers and open hashes from rows. Holds are kept for held and sold units; units count
// to the limit as long as the state holds them. The rows do not name the pass a buyer spent last, so every pass that is
// not newer than the buyer's last reservation counts as spent.
func restored(sale *app.Sale, orders []app.Order) (buyers, open []any) {
	type buyer struct {
		units   int
		count   int
		last    app.Millis // reservation
		records strings.Builder
	}
	byUser := make(map[app.ID]*buyer)
	for i := range orders {
		o := &orders[i]
		b := byUser[o.User]
		if b == nil {
			b = &buyer{}
			byUser[o.User] = b
		}
		b.count++
		b.last = max(b.last, o.CreatedAt)
		fmt.Fprintf(&b.records, "%d:%s:%d:%s;", o.ID, o.ContentHash, o.Ticket, o.Key)
		if o.HoldsUnits() {
			b.units += o.Qty
			if o.State != app.Refunded {
				open = append(open, o.ID.String(), holdValue(o))
			}
		}
	}
	for user, b := range byUser {
		record := fmt.Sprintf("%d|%d|%s", b.units, b.count, &b.records)
		if sale.Challenge.NeedsPass() {
			record += fmt.Sprintf("||%d", b.last)
		}
		buyers = append(buyers, user.String(), record)
	}
	return buyers, open
}

// holdValue is the value that the scripts would have given the order's hold.
func holdValue(o *app.Order) string {
	value := fmt.Sprintf("%d:%d", o.Hold, o.Qty)
	if o.State.Sold() {
		value += soldMark
	}
	return value
}

// Resume drops the old stream, makes a new one with its group, sets epoch and seq, and lets buys in again, from
// this node at once.
func (l *Inventory) Resume(ctx context.Context, partition int, epoch, seq int64) error {
	keys := func(k *partitionKeys) []string { return []string{k.meta, k.orders, k.waiting, k.attempts} }
	if _, err := l.run(ctx, resumeScript, partition, keys, epoch, seq); err != nil {
		return err
	}
	l.begun(ctx, partition, epoch, seq)
	l.SetEpoch(partition, epoch)
	return nil
}
