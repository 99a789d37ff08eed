package catalog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// listeners watch sales and record the announcements of sales and slots.
type listeners struct {
	Audience
	watched   []shop.ID
	published []shop.SaleView
	slots     []shop.Slot
}

func (l *listeners) Watched() []shop.ID { return l.watched }

func (l *listeners) SlotChanged(s shop.Slot) { l.slots = append(l.slots, s) }

func (l *listeners) SaleChanged(v shop.SaleView) { l.published = append(l.published, v) }

// countersOnly is an inventory without sold units.
type countersOnly struct{ Stock }

func (countersOnly) Now(context.Context) (shop.Millis, error) { return shop.MillisOf(time.Now()), nil }

func (countersOnly) Counters(_ context.Context, sales []shop.SaleRef) ([]shop.Counters, error) {
	all := make([]shop.Counters, len(sales))
	for i, s := range sales {
		all[i] = shop.Counters{Sale: s.ID, Loaded: true}
	}
	return all, nil
}

func newWatcher(catalogue *Catalogue, clock *shop.Clock, audience *listeners) *PhaseWatcher {
	var nothing countersOnly
	return &PhaseWatcher{
		Catalogue: catalogue, Stock: nothing, Audience: audience, Clock: clock,
		Storefront: &Storefront{Catalogue: catalogue, Stock: nothing, Clock: clock, Ticker: &Ticker{}},
	}
}

// I11: watchers are notified exactly once of each edit, such as another entry check, and of each phase change, and of
// nothing else.
func TestEditsAndPhasesOfWatchedSalesArePublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		opens := shop.MillisOf(time.Now()).Add(10 * time.Second)
		sale := shop.Sale{ID: 1, Version: 1, OpensAt: opens, ClosesAt: opens.Add(time.Hour)}
		source := &fakes.SaleData{At: 1, OnSale: map[shop.ID]shop.Sale{1: sale, 2: {ID: 2, Version: 1}}}
		catalogue, clock := NewCatalogue(source, source, fakes.ExactFilter, time.UTC), shop.NewClock()
		audience := &listeners{watched: []shop.ID{1}}
		w := newWatcher(catalogue, clock, audience)
		check := func(want ...shop.SaleView) {
			t.Helper()
			time.Sleep(catalogueInterval)
			fakes.Must(t, errors.Join(catalogue.Refresh(ctx), w.RunOnce(ctx)))
			same := func(a, b shop.SaleView) bool {
				return a.ID == b.ID && a.Phase == b.Phase && a.Challenge == b.Challenge
			}
			if !slices.EqualFunc(audience.published, want, same) {
				t.Fatalf("got events %+v, want %+v", audience.published, want)
			}
			audience.published = nil
		}
		check()
		check()
		sale.Challenge, sale.Version = shop.ChallengeWork, 2
		source.OnSale[1], source.OnSale[2], source.At = sale, shop.Sale{ID: 2, Version: 2}, 2
		check(shop.SaleView{ID: 1, Phase: shop.Upcoming, Challenge: shop.ChallengeWork})
		check()
		time.Sleep(10 * time.Second)
		check(shop.SaleView{ID: 1, Phase: shop.Open, Challenge: shop.ChallengeWork})
		check()
	})
}

// P3, I11: a slot and a sale that open at midnight are announced within a second while the database hangs or returns
// errors, even if the failure starts at midnight.
func TestOpeningIsPublishedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hangs   bool
		earlier time.Duration
	}{
		"the database hangs":             {true, time.Minute},
		"the database is unreachable":    {false, time.Minute},
		"the database hangs at midnight": {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				midnight := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC) // the clock of synctest starts a day before
				opens := shop.MillisOf(midnight)
				sale := shop.Sale{ID: 1, Slot: 7, Version: 1, OpensAt: opens, ClosesAt: opens.Add(time.Hour)}
				source := &fakes.SaleData{
					At: 1, OnSale: map[shop.ID]shop.Sale{1: sale},
					Planned: []shop.Slot{{ID: 7, OpensAt: opens, ClosesAt: opens.Add(time.Hour)}},
				}
				catalogue, clock := NewCatalogue(source, source, fakes.ExactFilter, time.UTC), shop.NewClock()
				audience := &listeners{watched: []shop.ID{1}}
				w := newWatcher(catalogue, clock, audience)
				time.Sleep(time.Until(midnight) - 2*time.Minute)
				fakes.Must(t, errors.Join(catalogue.Refresh(ctx), clock.Sample(ctx, countersOnly{})))
				var jobs sync.WaitGroup
				for _, run := range []func(context.Context) error{catalogue.Run, w.Run} {
					jobs.Go(func() { _ = run(ctx) })
				}
				time.Sleep(time.Until(midnight) - c.earlier - time.Nanosecond)
				source.Fail(c.hangs)
				time.Sleep(time.Until(midnight) + time.Second)
				stop()
				jobs.Wait()
				if len(audience.slots) != 1 || audience.slots[0].ID != 7 || audience.slots[0].Phase != shop.Open {
					t.Errorf("got slot events %+v, want slot 7 open", audience.slots)
				}
				if len(audience.published) != 1 || audience.published[0].Phase != shop.Open {
					t.Errorf("got sale events %+v, want sale 1 open", audience.published)
				}
			})
		})
	}
}
