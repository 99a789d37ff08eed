package order

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// lockedStore rejects batches that contain an order of the locked sale, like a database with a locked row.
type lockedStore struct {
	*faultyStore
	locked shop.ID
}

func (l *lockedStore) Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error) {
	for i := range rows {
		if rows[i].Sale == l.locked {
			l.sizes = append(l.sizes, len(rows))
			return nil, fmt.Errorf("insert: %w", &shop.StuckSale{Sale: l.locked, Err: errors.New("lock wait timeout")})
		}
	}
	return l.faultyStore.Insert(ctx, epoch, rows)
}

// P2: the entries of a locked sale get a transient fault and wait. The other entries of the batch are written.
func TestLockedSaleDoesNotDelayOtherEntries(t *testing.T) {
	t.Parallel()
	f, faulty, _, _ := newTestFulfiller()
	entries := newEntries(6)
	for i := range entries {
		entries[i].Sale = shop.ID(1 + i%2)
	}
	f.Store = &lockedStore{faulty, 2}
	verdicts, err := f.Fulfil(context.Background(), entries)
	fakes.Must(t, err)
	for i, verdict := range verdicts {
		stuck := entries[i].Sale == 2
		if stuck != errors.Is(verdict, shop.ErrTransient) || errors.Is(verdict, shop.ErrPermanent) || !stuck &&
			verdict != nil {
			t.Errorf("entry %d of sale %s: got verdict %v, want a transient fault only for sale 2", i, entries[i].Sale, verdict)
		}
	}
	if got := fmt.Sprint(faulty.sizes); got != "[6 3]" {
		t.Errorf("got batches of %s, want [6 3]: all entries, then the three of other sales", got)
	}
}
