package app

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
)

// fakeFigures keeps what was said of sales; away, it keeps it all the same and the answer is lost.
type fakeFigures struct {
	said  map[ID]map[string]SaleFigures
	words int
	away  bool
}

func (f *fakeFigures) SaySaleFigures(_ context.Context, all []SaleFigures) error {
	f.words++
	for _, one := range all {
		if f.said[one.Sale] == nil {
			f.said[one.Sale] = map[string]SaleFigures{}
		}
		f.said[one.Sale][one.By] = one
	}
	if f.away {
		return errors.New("away")
	}
	return nil
}

func (f *fakeFigures) SaleFigures(_ context.Context, sale ID) (all []SaleFigures, err error) {
	for _, one := range f.said[sale] {
		all = append(all, one)
	}
	return all, nil
}

func newCounts(process string, store *fakeFigures) (*SaleCounts, *Millis) {
	now := new(Millis)
	*now = 1_800_000_000_000
	return &SaleCounts{Store: store, Process: process, Now: func() Millis { return *now }}, now
}

// What several processes have counted of a sale adds up, by the layer and the code; a lost answer counts nothing twice,
// and what has not changed is not said again.
func TestCountsOfSalesAddUp(t *testing.T) {
	t.Parallel()
	store := &fakeFigures{said: map[ID]map[string]SaleFigures{}}
	one, _ := newCounts("1", store)
	two, _ := newCounts("2", store)
	for _, c := range []*SaleCounts{one, two} {
		c.TurnAway(7, LayerPace, Fail(RateLimited, "before anybody knows the sale"))
		for range 5 {
			c.pressOf(7)
		}
		c.reserve(7)
		c.turnAway(7, LayerNode, soldOut)
		c.turnAway(7, LayerNode, soldOut)
		c.turnAway(7, LayerRedis, FailBusy("m", 1))
		c.turnAway(7, LayerRedis, errors.New("x"))
		c.TurnAway(7, LayerPace, Fail(RateLimited, "m"))
		c.Told(7, 12*time.Millisecond)
		c.turnAway(8, LayerRedis, soldOut) // of a sale that nobody has pressed
		store.away = true
		if err := c.RunOnce(t.Context()); err == nil {
			t.Error("a lost answer is no answer")
		}
		store.away = false
		for range 3 {
			must(t, c.RunOnce(t.Context()))
		}
	}
	if store.words != 4 || len(store.said[8]) != 0 {
		t.Errorf("said %d times, of another sale %v", store.words, store.said[8])
	}
	said, _ := store.SaleFigures(t.Context(), 7)
	want := &SalePresses{
		Pressed: 12, Reserved: 2, ToOrder: &SaleWaits{Orders: 2, P50: 13, P99: 15},
		TurnedAway: []TurnedAway{
			{LayerPace, RateLimited, 2},
			{LayerNode, SoldOut, 4},
			{LayerRedis, Busy, 2},
			{LayerRedis, Internal, 2},
		},
	}
	if got := pressesOf(said); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %+v, want %+v %+v", got, got.ToOrder, want, want.ToOrder)
	}
	if pressesOf(nil) != nil {
		t.Error("nothing was counted, and there is something")
	}
}

// A sale that comes back after it was forgotten is counted beside what was said before, not in its place; more sales
// than there is room for cost nothing.
func TestCountsOfSalesAreBounded(t *testing.T) {
	t.Parallel()
	store := &fakeFigures{said: map[ID]map[string]SaleFigures{}}
	c, now := newCounts("1", store)
	for sale := range ID(mostCounted + 50) {
		c.pressOf(sale + 1)
	}
	if n := len(*c.counted.Load()); n != mostCounted {
		t.Errorf("%d sales are counted", n)
	}
	step := func(d time.Duration) {
		*now = now.Add(d)
		must(t, c.RunOnce(t.Context()))
	}
	step(0)
	c.pressOf(3)
	step(countedIdle)
	step(2 * time.Millisecond) // sale 3 has moved meanwhile
	if n := len(*c.counted.Load()); n != 1 {
		t.Errorf("%d sales are still counted", n)
	}
	c.pressOf(1)
	step(time.Second)
	said, _ := store.SaleFigures(t.Context(), 1)
	if p := pressesOf(said); len(said) != 2 || p.Pressed != 2 {
		t.Errorf("%d words, %+v", len(said), p)
	}
}

// Counting by the sale allocates nothing either.
func TestCountsOfSalesAllocateNothing(t *testing.T) {
	c, _ := newCounts("1", &fakeFigures{said: map[ID]map[string]SaleFigures{}})
	c.pressOf(7)
	busy := FailBusy("m", 1)
	if n := testing.AllocsPerRun(100, func() {
		c.pressOf(7)
		c.reserve(7)
		c.turnAway(7, LayerNode, soldOut)
		c.turnAway(7, LayerRedis, busy)
		c.TurnAway(7, LayerPace, busy)
		c.Told(7, time.Millisecond)
		c.turnAway(8, LayerRedis, soldOut)
	}); n != 0 {
		t.Errorf("%v allocations for each press", n)
	}
	var nobody *SaleCounts
	nobody.pressOf(7)
	nobody.turnAway(7, LayerNode, soldOut)
	nobody.TurnAway(7, LayerPace, busy)
}

// A checkout says which layer has turned somebody away: this node by what it knows, or the script.
func TestCheckoutCountsByLayer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		gate scriptedGate
		sale Sale
		want *TurnedAway
	}{
		{
			"sold out, by the flag",
			scriptedGate{answer: GateAnswer{Verdict: VerdictSoldOut, Free: 1, Unasked: true}},
			Sale{OpensAt: 1},
			&TurnedAway{LayerNode, SoldOut, 1},
		},
		{
			"sold out, by the script",
			scriptedGate{answer: GateAnswer{Verdict: VerdictSoldOut, Free: 1}},
			Sale{OpensAt: 1},
			&TurnedAway{LayerRedis, SoldOut, 1},
		},
		{"nobody knows", scriptedGate{err: ErrTransient}, Sale{OpensAt: 1}, &TurnedAway{LayerRedis, Busy, 1}},
		{"too early", scriptedGate{}, Sale{OpensAt: 1 << 42}, &TurnedAway{LayerNode, NotOpen, 1}},
		{"reserved", scriptedGate{answer: GateAnswer{Verdict: VerdictReserved}}, Sale{OpensAt: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := &fakeFigures{said: map[ID]map[string]SaleFigures{}}
			counts, _ := newCounts("1", store)
			c.sale.ID, c.sale.ClosesAt = 7, 1<<43
			checkout := &Checkout{
				Catalogue: catalogueOf(t, c.sale), Gate: c.gate, SoldOut: NewSoldOutFlags(nil),
				Clock: NewClock(), Mint: func() (ID, error) { return 11, nil }, Counts: counts,
			}
			_, _ = checkout.Buy(t.Context(), 5, BuyRequest{Sale: 7, Qty: 1, Key: "key-of-it"})
			must(t, counts.RunOnce(t.Context()))
			said, _ := store.SaleFigures(t.Context(), 7)
			got := pressesOf(said)
			if got.Pressed != 1 || (c.want == nil) != (got.Reserved == 1) ||
				c.want != nil && (len(got.TurnedAway) != 1 || got.TurnedAway[0] != *c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
