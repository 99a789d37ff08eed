package realtime

import (
	"testing"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/wsclient"
)

func paused(id, slot shop.ID) shop.SaleView {
	return shop.SaleView{ID: id, Slot: slot, Product: shop.Product{ID: 1}, Paused: true}
}

func TestSlotHintsReachAllAndSaleHintsReachWatchers(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	slot := n.watcher(t, `"op":"watch","slot":"1"`)
	sale := n.watcher(t, `"op":"watch","sales":["11"]`)
	other := n.watcher(t, `"op":"watch","slot":"2"`)
	n.hub.SaleChanged(paused(11, 1))
	n.hub.SlotChanged(shop.Slot{ID: 3, Phase: shop.Upcoming})
	for _, p := range []*peer{slot, sale} {
		if got := p.awaitEvents("sale", 1)[0].Event.(*wsclient.SaleEvent).Sale; got.ID != 11 || !got.Paused {
			t.Errorf("got %+v", got)
		}
	}
	for _, p := range []*peer{slot, sale, other} {
		if got := p.awaitEvents("slot", 1)[0].Event.(*wsclient.SlotEvent); got.Slot != 3 || got.Phase != shop.Upcoming {
			t.Errorf("got %+v", got)
		}
	}
	other.waitHandled()
	if len(other.all("sale")) != 0 {
		t.Error("a client that does not watch the sale received its event")
	}
}

func TestNewSaleOfWatchedSlotGetsTicks(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.watcher(t, `"op":"watch","slot":"1"`)
	n.hub.SaleChanged(paused(19, 1))
	p.awaitEvents("sale", 1)
	n.hub.Tick(1, []shop.Counters{counters(19, 5)})
	p.awaitTick("tick of the new sale", func(lines map[shop.ID]wsclient.TickLine) bool { return lines[19].Stock == 5 })
	p.mustCall(`"op":"watch","sales":["41"]`, nil) // the earlier watch remains
	n.hub.Tick(2, []shop.Counters{counters(19, 4)})
	p.awaitTick("tick after another watch",
		func(lines map[shop.ID]wsclient.TickLine) bool { return lines[19].Stock == 4 })
}

// A change during the read of a snapshot is sent after the snapshot, which does not contain the change.
func TestHintsDuringSnapshotFollowItsReply(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.shop.set(func(s *fakeShop) {
		s.watch = func(shop.ID, []shop.ID) (catalog.WatchView, error) {
			view := catalog.WatchView{Slot: 1, Sales: []shop.SaleView{paused(11, 1)}}
			n.hub.SaleChanged(paused(11, 1)) // after the read, before the reply
			n.hub.SlotChanged(shop.Slot{ID: 1, Phase: shop.Ended})
			return view, nil
		}
	})
	p := n.connect(t, 0)
	// Not with call, which returns the reply alone: the test compares its position with the events.
	p.send(`{"id":102,"op":"watch"}`)
	p.awaitEvents("sale", 1)
	p.waitHandled()
	reply, sale, slot := -1, -1, -1
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.received {
		switch {
		case isReply(f, 102):
			reply = i
		case f.Ev == "sale":
			sale = i
		case f.Ev == "slot":
			slot = i
		}
	}
	if reply == -1 || sale < reply || slot < reply {
		t.Errorf("want the reply before the events; got reply at %d, sale at %d, slot at %d", reply, sale, slot)
	}
}

func TestRecentHintsSinceReturnsHintsAfterMark(t *testing.T) {
	t.Parallel()
	var r recentHints
	r.put(recentHint{subject: "a"})
	mark := r.mark()
	r.put(recentHint{subject: "b"})
	r.put(recentHint{subject: "a"})
	got := r.since(mark)
	if len(got) != 2 || got[0].subject != "b" || got[1].subject != "a" {
		t.Errorf("got the hints %+v since the mark", got)
	}
}
