package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// shelf is a catalogue source in memory that counts what it is asked.
type shelf struct {
	CatalogueStore
	version int64
	sales   map[ID]Sale
	slots   []Slot
	asked   int
}

func (s *shelf) Version(context.Context) (int64, error) { return s.version, nil }

func (s *shelf) SaleIDs(context.Context) ([]ID, error) {
	var ids []ID
	for id := range s.sales {
		ids = append(ids, id)
	}
	return ids, nil
}

func (s *shelf) Sale(_ context.Context, id ID) (Sale, error) {
	s.asked++
	if sale, ok := s.sales[id]; ok {
		return sale, nil
	}
	return Sale{}, ErrNoRow
}

func (s *shelf) Slots(_ context.Context, from, to Millis) ([]Slot, error) {
	var in []Slot
	for _, slot := range s.slots {
		if slot.OpensAt < to && slot.ClosesAt > from {
			in = append(in, slot)
		}
	}
	return in, nil
}

func exactFilter(ids []ID) IDFilter {
	return func(id ID) bool { return slices.Contains(ids, id) }
}

// I11: a "no" of the filter counts only while the catalogue version is known to be current.
func TestFilterTurnsUnknownIDsAwayOnlyWhileItIsFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{sales: map[ID]Sale{1: {ID: 1}}}
		c := NewCatalogue(source, exactFilter, time.UTC)
		ctx := context.Background()
		if err := c.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		notFound := &Error{Code: NotFound}
		if _, err := c.Sale(ctx, 2); !errors.Is(err, notFound) || source.asked != 0 {
			t.Fatalf("fresh filter: %v, database asked %d times", err, source.asked)
		}
		source.sales[2] = Sale{ID: 2} // a new sale, the filter does not know it
		time.Sleep(catalogueAge)
		if _, err := c.Sale(ctx, 2); err != nil {
			t.Fatalf("an old filter must not turn a new sale away: %v", err)
		}
	})
}

func TestSnapshotIsDroppedWhenTheVersionMoves(t *testing.T) {
	t.Parallel()
	source := &shelf{sales: map[ID]Sale{1: {ID: 1, PriceFen: 100}}}
	c := NewCatalogue(source, exactFilter, time.UTC)
	ctx := context.Background()
	price := func() int64 {
		t.Helper()
		if err := c.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		sale, err := c.Sale(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		return sale.PriceFen
	}
	for range 2 {
		if got := price(); got != 100 || source.asked != 1 {
			t.Fatalf("price %d after %d reads, want 100 after one", got, source.asked)
		}
	}
	source.sales[1] = Sale{ID: 1, PriceFen: 90}
	source.version++
	if got := price(); got != 90 {
		t.Fatalf("price %d after the edit, want 90", got)
	}
}

func TestTodayShowsTheSlotsAroundTheCurrentOne(t *testing.T) {
	t.Parallel()
	source := &shelf{}
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for i := range 24 * 12 { // the rolling schedule: every five minutes
		opens := MillisOf(day.Add(time.Duration(i) * 5 * time.Minute))
		source.slots = append(source.slots, Slot{ID: ID(i + 1), OpensAt: opens, ClosesAt: opens.Add(5 * time.Minute)})
	}
	c := NewCatalogue(source, exactFilter, time.UTC)
	now := MillisOf(day.Add(12 * time.Hour))
	slots, err := c.Today(context.Background(), now)
	if err != nil || len(slots) != slotsShown {
		t.Fatalf("%d slots, %v", len(slots), err)
	}
	if slots[0].Phase != Ended || slots[pastShown].Phase != Open || slots[pastShown+1].Phase != Upcoming {
		t.Fatalf("phases %s %s %s", slots[0].Phase, slots[pastShown].Phase, slots[pastShown+1].Phase)
	}
}

func TestAfterTheLastSlotTomorrowsAreShown(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	at := func(d int, h int) Millis { return MillisOf(day.AddDate(0, 0, d).Add(time.Duration(h) * time.Hour)) }
	source := &shelf{slots: []Slot{
		{ID: 1, OpensAt: at(0, 20), ClosesAt: at(0, 22)}, {ID: 2, OpensAt: at(1, 8), ClosesAt: at(1, 10)},
	}}
	c := NewCatalogue(source, exactFilter, time.UTC)
	ctx := context.Background()
	for hour, want := range map[int]int{21: 1, 23: 2} {
		slots, err := c.Today(ctx, at(0, hour))
		if err != nil || len(slots) != want {
			t.Errorf("at %d o'clock %d slots, want %d (%v)", hour, len(slots), want, err)
		}
	}
}
