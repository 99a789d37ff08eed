package board

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// fakeFigures stores the published counts of sales. With lostReply, it stores them and then returns an error.
type fakeFigures struct {
	FigureStore
	published map[shop.ID]map[string]SaleFigures
	writes    int
	lostReply bool
}

func (f *fakeFigures) PublishSaleFigures(_ context.Context, all []SaleFigures) error {
	f.writes++
	for _, one := range all {
		if f.published[one.Sale] == nil {
			f.published[one.Sale] = map[string]SaleFigures{}
		}
		f.published[one.Sale][one.By] = one
	}
	if f.lostReply {
		return errors.New("lost reply")
	}
	return nil
}

func (f *fakeFigures) SaleFigures(_ context.Context, sale shop.ID) (all []SaleFigures, err error) {
	for _, one := range f.published[sale] {
		all = append(all, one)
	}
	return all, nil
}

func newCounts(process string, store *fakeFigures) (*SaleCounts, *shop.Millis) {
	now := new(shop.Millis)
	*now = 1_800_000_000_000
	return &SaleCounts{Figures: store, Process: process, Now: func() shop.Millis { return *now }}, now
}

// The counts of several processes for a sale add up, by layer and code. A lost reply counts nothing twice, and
// unchanged counts are not published again.
func TestSaleCountsOfProcessesAddUp(t *testing.T) {
	t.Parallel()
	store := &fakeFigures{published: map[shop.ID]map[string]SaleFigures{}}
	one, _ := newCounts("1", store)
	two, _ := newCounts("2", store)
	for _, c := range []*SaleCounts{one, two} {
		c.Reject(7, shop.LayerPace, shop.Fail(shop.RateLimited, "before the sale is in the catalogue"))
		c.Count(7, shop.LayerRedis, true, nil)
		c.Count(7, shop.LayerRedis, false, nil) // a repeat
		c.Count(7, shop.LayerNode, false, soldOut)
		c.Count(7, shop.LayerNode, false, soldOut)
		c.Count(7, shop.LayerRedis, false, shop.FailBusy("m", 1))
		c.Count(7, shop.LayerRedis, false, errors.New("x"))
		c.Reject(7, shop.LayerPace, shop.Fail(shop.RateLimited, "m"))
		c.OrderPublished(7, 12*time.Millisecond)
		c.Reject(8, shop.LayerNode, soldOut) // a sale without a buy
		store.lostReply = true
		if err := c.RunOnce(t.Context()); err == nil {
			t.Error("no error after a lost reply")
		}
		store.lostReply = false
		for range 3 {
			fakes.Must(t, c.RunOnce(t.Context()))
		}
	}
	if store.writes != 4 || len(store.published[8]) != 0 {
		t.Errorf("got %d writes and the counts %v for sale 8, want 4 writes and no counts", store.writes, store.published[8])
	}
	figures, _ := store.SaleFigures(t.Context(), 7)
	want := &SaleBuys{
		Attempts: 14, Reserved: 2, ToOrder: &WaitTimes{Orders: 2, P50: 13, P99: 15},
		Rejected: []Rejected{
			{shop.LayerPace, shop.RateLimited, 2},
			{shop.LayerNode, shop.SoldOut, 4},
			{shop.LayerRedis, shop.Busy, 2},
			{shop.LayerRedis, shop.Internal, 2},
		},
	}
	if got := BuysOf(figures); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %+v, want %+v %+v", got, got.ToOrder, want, want.ToOrder)
	}
	if BuysOf(nil) != nil {
		t.Error("BuysOf(nil): got counters, want nil")
	}
}

// A sale that returns after it was dropped is counted in addition to its earlier counts. Sales above the limit cost
// nothing.
func TestSaleCountsAreBounded(t *testing.T) {
	t.Parallel()
	store := &fakeFigures{published: map[shop.ID]map[string]SaleFigures{}}
	c, now := newCounts("1", store)
	for sale := range shop.ID(maxCounted + 50) {
		c.Count(sale+1, shop.LayerRedis, true, nil)
	}
	if n := len(*c.counted.Load()); n != maxCounted {
		t.Errorf("got counters of %d sales, want %d", n, maxCounted)
	}
	step := func(d time.Duration) {
		*now = now.Add(d)
		fakes.Must(t, c.RunOnce(t.Context()))
	}
	step(0)
	c.Count(3, shop.LayerRedis, true, nil)
	step(idleLimit)
	step(2 * time.Millisecond) // sale 3 was counted meanwhile
	if n := len(*c.counted.Load()); n != 1 {
		t.Errorf("got counters of %d sales after the idle limit, want 1", n)
	}
	c.Count(1, shop.LayerRedis, true, nil)
	step(time.Second)
	figures, _ := store.SaleFigures(t.Context(), 1)
	if p := BuysOf(figures); len(figures) != 2 || p.Attempts != 2 {
		t.Errorf("got %d counts of the sale with the sum %+v, want 2 counts with 2 attempts", len(figures), p)
	}
}

// Counting by sale allocates nothing.
func TestSaleCountsAllocateNothing(t *testing.T) {
	c, _ := newCounts("1", &fakeFigures{published: map[shop.ID]map[string]SaleFigures{}})
	c.Count(7, shop.LayerRedis, true, nil)
	busy := shop.FailBusy("m", 1)
	if n := testing.AllocsPerRun(100, func() {
		c.Count(7, shop.LayerRedis, true, nil)
		c.Count(7, shop.LayerNode, false, soldOut)
		c.Count(7, shop.LayerRedis, false, busy)
		c.Reject(7, shop.LayerPace, busy)
		c.OrderPublished(7, time.Millisecond)
		c.Reject(8, shop.LayerNode, soldOut)
	}); n != 0 {
		t.Errorf("got %v allocations per buy attempt, want 0", n)
	}
	var nilCounts *SaleCounts
	nilCounts.Count(7, shop.LayerNode, false, soldOut)
	nilCounts.Reject(7, shop.LayerPace, busy)
}
