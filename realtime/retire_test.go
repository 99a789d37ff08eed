package realtime

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

const slotLength = 5 * time.Minute

// rollingShop gives the shop consecutive slots: slot s is open during the s-th five minutes from now and has the sales
// 10·s+1 and 10·s+2. A single sale n belongs to slot n/10. advance advances the time.
func (n *node) rollingShop() (advance func(time.Duration)) {
	begin, base := n.shop.Now(), n.shop.copy().ahead
	closes := func(slot shop.ID) shop.Millis { return begin.Add(time.Duration(slot) * slotLength) }
	n.shop.set(func(s *fakeShop) {
		s.watch = func(slot shop.ID, sales []shop.ID) (catalog.WatchView, error) {
			if slot == 0 && len(sales) == 0 {
				slot = shop.ID(n.shop.Now().Sub(begin)/slotLength) + 1
			}
			view := catalog.WatchView{Slot: slot}
			if slot != 0 {
				view.Slots = []shop.Slot{{ID: slot, Phase: shop.Open, ClosesAt: closes(slot), Sales: 2}}
				sales = append(slices.Clone(sales), 10*slot+1, 10*slot+2)
			}
			for _, id := range sales {
				view.Sales = append(view.Sales, shop.SaleView{ID: id, Slot: id / 10, ClosesAt: closes(id / 10)})
			}
			return view, nil
		}
	})
	return func(d time.Duration) {
		base += d
		n.shop.set(func(s *fakeShop) { s.ahead = base })
	}
}

func (n *node) awaitWatched(want ...shop.ID) {
	n.t.Helper()
	kit.Eventually(n.t, testTimeout, func() (bool, string) {
		diff := cmp.Diff(want, n.hub.Watched())
		return diff == "", "watched (-want +got):\n" + diff
	})
}

// A client that follows the current slot never reaches a limit and receives the ticks of each slot. It watches at most
// four slots, for any slot length.
func TestFollowingTheCurrentSlotReachesNoLimit(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) {
		o.RetireAfter = 24 * time.Hour // no slot is retired by age
		o.OpsBurst = 1000
	})
	advance := n.rollingShop()
	p := n.connect(t, 0)
	for slot := shop.ID(1); slot <= 60; slot++ {
		p.mustCall(`"op":"watch"`, nil)
		sale := 10*slot + 1
		n.sendThreeTicks(counters(sale, int64(slot)))
		p.awaitTick(fmt.Sprintf("tick of slot %s", slot), func(lines map[shop.ID]wsclient.TickLine) bool {
			return lines[sale].Stock == int64(slot)
		})
		if watched := n.hub.Watched(); len(watched) > 2*maxWatchedSlots || watched[len(watched)-1] != sale+1 {
			t.Fatalf("slot %s: got the watched sales %v, want at most four slots with this slot", slot, watched)
		}
		advance(slotLength)
	}
	// Slots that are still open are limited to four.
	for slot := shop.ID(100); slot < 100+maxWatchedSlots; slot++ {
		p.mustCall(fmt.Sprintf(`"op":"watch","slot":"%d"`, slot), nil)
	}
	p.wantError(`"op":"watch","slot":"200"`, shop.RateLimited)
}

// Slots and single sales that closed long ago are retired, and ticks no longer contain them.
func TestClosedSlotsAndSalesAreRetired(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.RetireAfter, o.CheckEvery = 10*time.Minute, 5*time.Millisecond })
	advance := n.rollingShop()
	p := n.watcher(t, `"op":"watch","slot":"1","sales":["21","41"]`)
	n.awaitWatched(11, 12, 21, 41)
	advance(slotLength + 9*time.Minute)
	p.waitHandled()
	n.awaitWatched(11, 12, 21, 41) // slot 1: its reservations may still be paid or expire
	advance(time.Minute)
	n.awaitWatched(21, 41)
	advance(slotLength)
	n.awaitWatched(41)
	n.sendThreeTicks(counters(11, 1), counters(21, 2), counters(41, 3))
	p.awaitTick("tick",
		func(lines map[shop.ID]wsclient.TickLine) bool { return len(lines) == 1 && lines[41].Stock == 3 })

	// A closed slot can be watched again and is then retired again. Other watched sales are unaffected.
	p.mustCall(`"op":"watch","slot":"1"`, nil)
	n.awaitWatched(41)
	p.mustCall(`"op":"unwatch","sales":["41"]`, nil)
	n.awaitWatched()
}

// A slot or sale that an operator extends stays watched.
func TestExtendedSlotStaysWatched(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.RetireAfter = time.Minute })
	advance := n.rollingShop()
	n.watcher(t, `"op":"watch","slot":"1","sales":["21"]`)
	original := n.shop.copy().watch
	n.shop.set(func(s *fakeShop) {
		s.watch = func(slot shop.ID, sales []shop.ID) (catalog.WatchView, error) {
			view, err := original(slot, sales)
			for i := range view.Slots {
				view.Slots[i].ClosesAt = n.shop.Now()
			}
			return view, err
		}
	})
	advance(time.Hour)
	_ = n.hub.retireOnce(t.Context())
	n.awaitWatched(11, 12)
	advance(2 * time.Minute)
	n.shop.set(func(s *fakeShop) {
		s.watch = func(shop.ID, []shop.ID) (catalog.WatchView, error) {
			return catalog.WatchView{}, shop.Fail(shop.NotFound,
				"gone")
		}
	})
	_ = n.hub.retireOnce(t.Context())
	n.awaitWatched()
}

// Closed single sales make room for others; the one that closed first is removed first.
func TestClosedSalesMakeRoomForOthers(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(o *Options) { o.RetireAfter = 24 * time.Hour })
	advance := n.rollingShop()
	p := n.connect(t, 0)
	for slot := 1; slot <= maxWatchedSales; slot++ {
		p.mustCall(fmt.Sprintf(`"op":"watch","sales":["%d"]`, 10*slot+3), nil)
	}
	p.wantError(`"op":"watch","sales":["993"]`, shop.RateLimited)
	advance(2 * slotLength)
	p.mustCall(`"op":"watch","sales":["993"]`, nil)
	if watched := n.hub.Watched(); len(watched) != maxWatchedSales || slices.Contains(watched, 13) ||
		!slices.Contains(watched, 993) {
		t.Fatalf("got the watched sales %v, want sale 993 instead of sale 13", watched)
	}
}
