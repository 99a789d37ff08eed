package app

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// listeners watch one sale and remember what they are told of it.
type listeners struct {
	Audience
	watched []ID
	told    []SaleView
}

func (l *listeners) Watched() []ID          { return l.watched }
func (l *listeners) SlotChanged(Slot)       {}
func (l *listeners) SaleChanged(v SaleView) { l.told = append(l.told, v) }

// countersOnly is an inventory in which nothing is sold.
type countersOnly struct{ Inventory }

func (countersOnly) Now(context.Context) (Millis, error) { return MillisOf(time.Now()), nil }

func (countersOnly) Counters(_ context.Context, sales []SaleRef) ([]Counters, error) {
	all := make([]Counters, len(sales))
	for i, s := range sales {
		all[i] = Counters{Sale: s.ID, Loaded: true}
	}
	return all, nil
}

// I11: whoever has the page open hears of an edit, such as another entry check, and of a phase that begins, each once,
// and of nothing else.
func TestEditsAndPhasesOfAWatchedSaleAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		opens := MillisOf(time.Now()).Add(10 * time.Second)
		sale := Sale{ID: 1, Version: 1, OpensAt: opens, ClosesAt: opens.Add(time.Hour)}
		source := &shelf{version: 1, sales: map[ID]Sale{1: sale, 2: {ID: 2, Version: 1}}}
		catalogue, clock := NewCatalogue(source, exactFilter, time.UTC), NewClock()
		people := &listeners{watched: []ID{1}}
		w := &PhaseWatcher{
			Catalogue: catalogue, Inventory: countersOnly{}, Audience: people, Clock: clock,
			Storefront: &Storefront{Catalogue: catalogue, Inventory: countersOnly{}, Clock: clock, Ticker: &Ticker{}},
		}
		look := func(want ...SaleView) {
			t.Helper()
			time.Sleep(catalogueEvery)
			if err := w.RunOnce(ctx); err != nil {
				t.Fatal(err)
			}
			same := func(a, b SaleView) bool {
				return a.ID == b.ID && a.Phase == b.Phase && a.Challenge == b.Challenge
			}
			if !slices.EqualFunc(people.told, want, same) {
				t.Fatalf("told %+v, want %+v", people.told, want)
			}
			people.told = nil
		}
		look()
		look()
		sale.Challenge, sale.Version = ChallengeWork, 2
		source.sales[1], source.sales[2], source.version = sale, Sale{ID: 2, Version: 2}, 2
		look(SaleView{ID: 1, Phase: Upcoming, Challenge: ChallengeWork})
		look()
		time.Sleep(10 * time.Second)
		look(SaleView{ID: 1, Phase: Open, Challenge: ChallengeWork})
		look()
	})
}
