package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// lockedStore refuses batches that hold an order of the locked sale, as a database does whose row stays locked.
type lockedStore struct {
	*faultyStore
	locked ID
}

func (b *lockedStore) Insert(ctx context.Context, epoch int64, rows []NewOrder) ([]Inserted, error) {
	for i := range rows {
		if rows[i].Sale == b.locked {
			b.sizes = append(b.sizes, len(rows))
			return nil, fmt.Errorf("insert: %w", &StuckSale{Sale: b.locked, Err: errors.New("lock wait timeout")})
		}
	}
	return b.faultyStore.Insert(ctx, epoch, rows)
}

// P2: the entries of a sale that stays locked wait, as a transient fault that counts against none of them; the others
// of the batch are written. A rebuild must not refuse them for it.
func TestFulfilGoesOnWithoutALockedSale(t *testing.T) {
	t.Parallel()
	f, book, _, _ := newTestFulfiller()
	entries := entries(6)
	for i := range entries {
		entries[i].Sale = ID(1 + i%2)
	}
	f.Orders = &lockedStore{book, 2}
	verdicts, err := f.Fulfil(context.Background(), entries)
	must(t, err)
	for i, verdict := range verdicts {
		stuck := entries[i].Sale == 2
		if stuck != errors.Is(verdict, ErrTransient) || errors.Is(verdict, ErrPermanent) || !stuck && verdict != nil {
			t.Errorf("entry %d of sale %s: %v", i, entries[i].Sale, verdict)
		}
	}
	if got := fmt.Sprint(book.sizes); got != "[6 3]" {
		t.Errorf("batches of %s, want all six and then the three others", got)
	}
	if err := f.rescue(context.Background(), 1, entries); !errors.Is(err, ErrTransient) {
		t.Errorf("a rebuild beside a locked sale: %v, want ErrTransient", err)
	}
}

// scarceStore has no units of one sale; only the database of its history refuses.
type scarceStore struct {
	*faultyStore
	scarce  ID
	history string
}

func (b *scarceStore) lacks(rows []NewOrder) bool {
	return slices.ContainsFunc(rows, func(o NewOrder) bool { return o.Sale == b.scarce })
}

func (b *scarceStore) Insert(ctx context.Context, epoch int64, rows []NewOrder) ([]Inserted, error) {
	if b.lacks(rows) {
		return nil, &StuckSale{Sale: b.scarce, Err: ErrScarce}
	}
	return b.faultyStore.Insert(ctx, epoch, rows)
}

func (b *scarceStore) InsertOrRefuse(
	ctx context.Context, epoch int64, rows []NewOrder, history string,
) ([]Inserted, error) {
	if b.lacks(rows) && history != "" && history != b.history {
		return nil, &StuckSale{Sale: b.scarce, Err: ErrScarce}
	}
	for i := range rows {
		if rows[i].Sale == b.scarce {
			rows[i].State = Refused
		}
	}
	return b.faultyStore.Insert(ctx, epoch, rows)
}

// P2: a database that was promoted does not refuse what Redis has sold: its entries wait until it has got back what it
// lacks, those of other sales do not. One that lacks nothing refuses, and so does any for a rebuild, which leaves no
// entry behind.
func TestOnlyAWholeDatabaseRefusesEntries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers, known string
		refused        bool
	}{
		"the one that is known": {"a", "a", true},
		"none is known":         {"a", "", true},
		"another one":           {"b", "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, book, inventory, _ := newTestFulfiller()
			inventory.database = c.known
			f.Orders = &scarceStore{book, 2, c.answers}
			list := entries(4)
			list[1].Sale, list[3].Sale = 2, 2
			verdicts, err := f.Fulfil(t.Context(), list)
			must(t, err)
			for i, verdict := range verdicts {
				waits := list[i].Sale == 2 && !c.refused
				if waits != errors.Is(verdict, ErrScarce) || waits != errors.Is(verdict, ErrTransient) {
					t.Errorf("entry %d of sale %s: %v", i, list[i].Sale, verdict)
				}
			}
			if want := map[bool]string{true: "[4]", false: "[2]"}[c.refused]; fmt.Sprint(book.sizes) != want {
				t.Errorf("written in batches of %v, want %s", book.sizes, want)
			}
			book.sizes = nil
			if err := f.rescue(t.Context(), 1, list); err != nil || fmt.Sprint(book.sizes) != "[4]" {
				t.Errorf("a rebuild writes batches of %v, want one of 4 (%v)", book.sizes, err)
			}
		})
	}
}
