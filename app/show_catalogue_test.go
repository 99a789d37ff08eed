package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// shelf is a catalogue source in memory that counts what it is asked, and can break.
type shelf struct {
	CatalogueStore
	version int64
	sales   map[ID]Sale
	slots   []Slot

	mu    sync.Mutex
	asked int
	away  error // what every question is answered with
	hangs bool  // as long as whoever asks can wait
	slow  time.Duration
}

// breaks has it hang, or fail, from now on.
func (s *shelf) breaks(hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = fmt.Errorf("%w: no route to host", ErrTransient), hangs
}

func (s *shelf) mends() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = nil, false
}

// counts a question.
func (s *shelf) counts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
}

// answers is what each question comes to.
func (s *shelf) answers(ctx context.Context) error {
	s.mu.Lock()
	away, hangs := s.away, s.hangs
	s.mu.Unlock()
	time.Sleep(s.slow)
	if hangs {
		<-ctx.Done()
	}
	return away
}

func (s *shelf) Version(ctx context.Context) (int64, error) { return s.version, s.answers(ctx) }

func (s *shelf) SaleIDs(ctx context.Context) ([]ID, error) {
	return slices.Collect(maps.Keys(s.sales)), s.answers(ctx)
}

func (s *shelf) Sale(ctx context.Context, id ID) (Sale, error) {
	s.counts()
	if err := s.answers(ctx); err != nil {
		return Sale{}, err
	}
	if sale, ok := s.sales[id]; ok {
		return sale, nil
	}
	return Sale{}, ErrNoRow
}

func (s *shelf) Sales(ctx context.Context, ids []ID) ([]Sale, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	s.counts()
	return s.that(func(sale Sale) bool { return slices.Contains(ids, sale.ID) }), s.answers(ctx)
}

func (s *shelf) SalesOfSlot(ctx context.Context, slot ID) ([]Sale, error) {
	s.counts()
	return s.that(func(sale Sale) bool { return sale.Slot == slot }), s.answers(ctx)
}

// that are the sales for which is says so.
func (s *shelf) that(is func(Sale) bool) (found []Sale) {
	for _, sale := range s.sales {
		if is(sale) {
			found = append(found, sale)
		}
	}
	return found
}

func (s *shelf) Slot(ctx context.Context, id ID) (Slot, error) { return Slot{ID: id}, s.answers(ctx) }

func (s *shelf) Slots(ctx context.Context, from, to Millis) ([]Slot, error) {
	var in []Slot
	for _, slot := range s.slots {
		if slot.OpensAt < to && slot.ClosesAt > from {
			in = append(in, slot)
		}
	}
	return in, s.answers(ctx)
}

func exactFilter(ids []ID) IDFilter {
	return func(id ID) bool { return slices.Contains(ids, id) }
}

// catalogueOf has read a source with these sales.
func catalogueOf(t testing.TB, sales ...Sale) *Catalogue {
	t.Helper()
	source := &shelf{sales: map[ID]Sale{}}
	for _, sale := range sales {
		source.sales[sale.ID] = sale
	}
	c := NewCatalogue(source, exactFilter, time.UTC)
	must(t, c.Refresh(t.Context()))
	return c
}

// I11: a "no" of the filter counts only while the catalogue version is known to be current.
func TestFilterTurnsUnknownIDsAwayOnlyWhileItIsFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{sales: map[ID]Sale{1: {ID: 1}}}
		c := NewCatalogue(source, exactFilter, time.UTC)
		ctx := context.Background()
		must(t, c.Refresh(ctx))
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

// I11: what the node knows is read anew when the catalogue's version moves, before anybody asks for it: a change of an
// operator sends no crowd to the database. What is long over is not read again.
func TestSnapshotIsReadAnewWhenTheVersionMoves(t *testing.T) {
	t.Parallel()
	now := MillisOf(time.Now())
	source := &shelf{
		slots: []Slot{{ID: 7, OpensAt: now, ClosesAt: now.Add(time.Hour)}},
		sales: map[ID]Sale{
			1: {ID: 1, Slot: 7, PriceFen: 100, ClosesAt: now.Add(time.Hour)},
			2: {ID: 2, PriceFen: 100, ClosesAt: now.Add(time.Hour)},
			3: {ID: 3, PriceFen: 100, ClosesAt: now.Add(-keptFor)},
		},
	}
	c := NewCatalogue(source, exactFilter, time.UTC)
	ctx := t.Context()
	refresh := func() {
		t.Helper()
		must(t, c.Refresh(ctx))
	}
	reads := func(what string, want int64, asks int) {
		t.Helper()
		before := source.asked
		must(t, errOf(c.Today(ctx, now)))
		must(t, errOf(c.SalesOfSlot(ctx, 7)))
		for _, id := range []ID{1, 2, 3} {
			if sale, err := c.Sale(ctx, id); err != nil || sale.PriceFen != want {
				t.Errorf("%s: sale %s costs %d (%v), want %d", what, id, sale.PriceFen, err, want)
			}
		}
		if n := source.asked - before; n != asks {
			t.Errorf("%s: the database was asked %d times, want %d", what, n, asks)
		}
	}
	refresh()
	reads("at first", 100, 3)
	refresh()
	reads("nothing moved", 100, 0)

	for id, sale := range source.sales {
		sale.PriceFen = 90
		source.sales[id] = sale
	}
	source.version++
	refresh()
	reads("after an edit", 90, 1)
	delete(source.sales, 2)
	source.version++
	refresh()
	if _, err := c.Sale(ctx, 2); !errors.Is(err, &Error{Code: NotFound}) {
		t.Errorf("a sale that is gone: %v", err)
	}
}

// P2, I11: a database that dies when an operator has just changed something leaves the catalogue that was known before
// or the one after, so that people go on buying from Redis without it.
func TestSnapshotStaysWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]func(t *testing.T, source *shelf, c *Catalogue){
		"after the next one was read": func(t *testing.T, source *shelf, c *Catalogue) {
			must(t, c.Refresh(t.Context()))
			source.breaks(false)
		},
		"while the next one is read": func(t *testing.T, source *shelf, c *Catalogue) {
			source.breaks(false)
			if err := c.Refresh(t.Context()); !errors.Is(err, ErrTransient) {
				t.Errorf("the refresh answers %v", err)
			}
		},
		"while what is made of it changes": func(_ *testing.T, source *shelf, c *Catalogue) {
			source.breaks(false)
			c.Forget()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := MillisOf(time.Now())
			source := &shelf{
				slots: []Slot{{ID: 7, OpensAt: now, ClosesAt: now.Add(time.Hour)}},
				sales: map[ID]Sale{1: {ID: 1, Slot: 7, ClosesAt: now.Add(time.Hour)}},
			}
			c := NewCatalogue(source, exactFilter, time.UTC)
			asks := func(when string) {
				t.Helper()
				if _, err := c.Sale(t.Context(), 1); err != nil {
					t.Errorf("%s: the sale: %v", when, err)
				}
				if slots, err := c.Today(t.Context(), now); err != nil || len(slots) != 1 {
					t.Errorf("%s: %d slots, %v", when, len(slots), err)
				}
				if sales, err := c.SalesOfSlot(t.Context(), 7); err != nil || len(sales) != 1 {
					t.Errorf("%s: %d sales, %v", when, len(sales), err)
				}
			}
			must(t, c.Refresh(t.Context()))
			asks("before")
			source.version++
			moves(t, source, c)
			asks("without the database")
			source.mends()
			if err := c.Refresh(t.Context()); err != nil || c.version != source.version {
				t.Errorf("version %d, want %d (%v)", c.version, source.version, err)
			}
			asks("with the database")
		})
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
