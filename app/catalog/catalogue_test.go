package catalog

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// I11: a negative filter result counts only while the catalogue version is known to be current.
func TestOnlyAFreshFilterRejectsUnknownIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &fakes.SaleData{OnSale: map[shop.ID]shop.Sale{1: {ID: 1}}}
		c := NewCatalogue(source, source, fakes.ExactFilter, time.UTC)
		ctx := context.Background()
		fakes.Must(t, c.Refresh(ctx))
		notFound := &shop.Error{Code: shop.NotFound}
		if _, err := c.Sale(ctx, 2); !errors.Is(err, notFound) || source.Reads != 0 {
			t.Fatalf("fresh filter: got %v and %d reads of the database, want not_found and none", err, source.Reads)
		}
		source.OnSale[2] = shop.Sale{ID: 2} // a new sale that the filter does not contain
		time.Sleep(maxCatalogueAge)
		if _, err := c.Sale(ctx, 2); err != nil {
			t.Fatalf("an old filter rejects a new sale: %v", err)
		}
	})
}

// I11: after a change of the version the node reads its snapshot again before clients need it. So an operator's change
// does not cause a peak of database reads. Sales that ended long ago are not read again.
func TestVersionChangeReloadsTheSnapshot(t *testing.T) {
	t.Parallel()
	now := shop.MillisOf(time.Now())
	source := &fakes.SaleData{
		Planned: []shop.Slot{{ID: 7, OpensAt: now, ClosesAt: now.Add(time.Hour)}},
		OnSale: map[shop.ID]shop.Sale{
			1: {ID: 1, Slot: 7, PriceFen: 100, ClosesAt: now.Add(time.Hour)},
			2: {ID: 2, PriceFen: 100, ClosesAt: now.Add(time.Hour)},
			3: {ID: 3, PriceFen: 100, ClosesAt: now.Add(-saleRetention)},
		},
	}
	c := NewCatalogue(source, source, fakes.ExactFilter, time.UTC)
	ctx := t.Context()
	refresh := func() {
		t.Helper()
		fakes.Must(t, c.Refresh(ctx))
	}
	checkReads := func(step string, want int64, wantReads int) {
		t.Helper()
		before := source.Reads
		fakes.Must(t, fakes.ErrOf(c.Today(ctx, now)))
		fakes.Must(t, fakes.ErrOf(c.SalesOfSlot(ctx, 7)))
		for _, id := range []shop.ID{1, 2, 3} {
			if sale, err := c.Sale(ctx, id); err != nil || sale.PriceFen != want {
				t.Errorf("%s: sale %s has price %d (%v), want %d", step, id, sale.PriceFen, err, want)
			}
		}
		if n := source.Reads - before; n != wantReads {
			t.Errorf("%s: %d reads of the database, want %d", step, n, wantReads)
		}
	}
	refresh()
	checkReads("first read", 100, 3)
	refresh()
	checkReads("same version", 100, 0)

	for id, sale := range source.OnSale {
		sale.PriceFen = 90
		source.OnSale[id] = sale
	}
	source.At++
	refresh()
	checkReads("after an edit", 90, 1)
	delete(source.OnSale, 2)
	source.At++
	refresh()
	if _, err := c.Sale(ctx, 2); !errors.Is(err, &shop.Error{Code: shop.NotFound}) {
		t.Errorf("deleted sale: got %v, want not_found", err)
	}
}

// P2, I11: if the database fails right after an operator's change, the old or the new snapshot stays. Buyers continue
// to buy from Redis.
func TestSnapshotStaysWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	for name, breakDatabase := range map[string]func(t *testing.T, source *fakes.SaleData, c *Catalogue){
		"after the new snapshot was read": func(t *testing.T, source *fakes.SaleData, c *Catalogue) {
			fakes.Must(t, c.Refresh(t.Context()))
			source.Fail(false)
		},
		"while the new snapshot is read": func(t *testing.T, source *fakes.SaleData, c *Catalogue) {
			source.Fail(false)
			if err := c.Refresh(t.Context()); !errors.Is(err, shop.ErrTransient) {
				t.Errorf("Refresh returned %v, want ErrTransient", err)
			}
		},
		"after Invalidate": func(_ *testing.T, source *fakes.SaleData, c *Catalogue) {
			source.Fail(false)
			c.Invalidate()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := shop.MillisOf(time.Now())
			source := &fakes.SaleData{
				Planned: []shop.Slot{{ID: 7, OpensAt: now, ClosesAt: now.Add(time.Hour)}},
				OnSale:  map[shop.ID]shop.Sale{1: {ID: 1, Slot: 7, ClosesAt: now.Add(time.Hour)}},
			}
			c := NewCatalogue(source, source, fakes.ExactFilter, time.UTC)
			wantSnapshot := func(when string) {
				t.Helper()
				if _, err := c.Sale(t.Context(), 1); err != nil {
					t.Errorf("%s: sale: %v", when, err)
				}
				if slots, err := c.Today(t.Context(), now); err != nil || len(slots) != 1 {
					t.Errorf("%s: got %d slots (%v), want 1", when, len(slots), err)
				}
				if sales, err := c.SalesOfSlot(t.Context(), 7); err != nil || len(sales) != 1 {
					t.Errorf("%s: got %d sales (%v), want 1", when, len(sales), err)
				}
			}
			fakes.Must(t, c.Refresh(t.Context()))
			wantSnapshot("before")
			source.At++
			breakDatabase(t, source, c)
			wantSnapshot("without the database")
			source.Repair()
			if err := c.Refresh(t.Context()); err != nil || c.version != source.At {
				t.Errorf("got version %d, want %d (%v)", c.version, source.At, err)
			}
			wantSnapshot("with the database")
		})
	}
}

func TestTodayShowsTheSlotsAroundTheCurrentOne(t *testing.T) {
	t.Parallel()
	source := &fakes.SaleData{}
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for i := range 24 * 12 { // the rolling schedule: every five minutes
		opens := shop.MillisOf(day.Add(time.Duration(i) * 5 * time.Minute))
		source.Planned = append(
			source.Planned, shop.Slot{ID: shop.ID(i + 1), OpensAt: opens, ClosesAt: opens.Add(5 * time.Minute)},
		)
	}
	c := NewCatalogue(source, source, fakes.ExactFilter, time.UTC)
	now := shop.MillisOf(day.Add(12 * time.Hour))
	slots, err := c.Today(context.Background(), now)
	if err != nil || len(slots) != maxSlotsShown {
		t.Fatalf("got %d slots (%v), want %d", len(slots), err, maxSlotsShown)
	}
	if slots[0].Phase != shop.Ended || slots[maxPastShown].Phase != shop.Open ||
		slots[maxPastShown+1].Phase != shop.Upcoming {
		t.Fatalf("got the phases %s, %s, %s, want closed, open, upcoming", slots[0].Phase, slots[maxPastShown].Phase, slots[maxPastShown+1].Phase)
	}
}

func TestTodayShowsTomorrowAfterTheLastSlot(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	at := func(d int, h int) shop.Millis {
		return shop.MillisOf(day.AddDate(0, 0, d).Add(time.Duration(h) * time.Hour))
	}
	source := &fakes.SaleData{Planned: []shop.Slot{
		{ID: 1, OpensAt: at(0, 20), ClosesAt: at(0, 22)}, {ID: 2, OpensAt: at(1, 8), ClosesAt: at(1, 10)},
	}}
	c := NewCatalogue(source, source, fakes.ExactFilter, time.UTC)
	ctx := context.Background()
	for hour, want := range map[int]int{21: 1, 23: 2} {
		slots, err := c.Today(ctx, at(0, hour))
		if err != nil || len(slots) != want {
			t.Errorf("hour %d: got %d slots, want %d (%v)", hour, len(slots), want, err)
		}
	}
}

// I11: concurrent callers share one database read. If the first caller leaves, the others still get its result.
func TestConcurrentCallersShareOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &fakes.SaleData{OnSale: map[shop.ID]shop.Sale{2: {ID: 2, Slot: 20}}, Delay: 5 * time.Millisecond}
		c := NewCatalogue(source, source, fakes.ExactFilter, time.UTC)
		firstCtx, cancelFirst := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		read := func(ctx context.Context) {
			callers.Go(func() {
				if sale, err := c.Sale(ctx, 2); ctx != firstCtx && (err != nil || sale.ID != 2) {
					t.Errorf("got sale %v, error %v; want sale 2", sale, err)
				}
			})
			callers.Go(func() { _, _ = c.SalesOfSlot(ctx, 20) })
		}
		read(firstCtx)
		synctest.Wait()
		for range 5000 {
			read(t.Context())
		}
		cancelFirst()
		callers.Wait()
		if source.Reads != 2 {
			t.Errorf("%d reads of the database, want 2: the sale and its slot", source.Reads)
		}
	})
}
