package realtime

import (
	"testing"

	"stampede/app"
)

func paused(id, slot app.ID) app.SaleView {
	return app.SaleView{ID: id, Slot: slot, Product: app.Product{ID: 1}, Paused: true}
}

func TestSlotsAreToldToEveryoneSalesToTheirWatchers(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	slot := n.watcher(t, `"op":"watch","slot":"1"`)
	sale := n.watcher(t, `"op":"watch","sales":["11"]`)
	other := n.watcher(t, `"op":"watch","slot":"2"`)
	n.hub.SaleChanged(paused(11, 1))
	n.hub.SlotChanged(app.Slot{ID: 3, Phase: app.Upcoming})
	for _, p := range []*peer{slot, sale} {
		if got := p.awaitEvents("sale", 1)[0]; got.Sale.ID != 11 || !got.Sale.Paused {
			t.Errorf("heard %+v", got.Sale)
		}
	}
	for _, p := range []*peer{slot, sale, other} {
		if got := p.awaitEvents("slot", 1)[0]; got.Slot != 3 || got.Phase != app.Upcoming {
			t.Errorf("heard %+v", got)
		}
	}
	other.fence()
	if len(other.all("sale")) != 0 {
		t.Error("a sale was told to somebody who does not watch it")
	}
}

func TestNewSaleOfAWatchedSlotIsTicked(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.watcher(t, `"op":"watch","slot":"1"`)
	n.hub.SaleChanged(paused(19, 1))
	p.awaitEvents("sale", 1)
	n.hub.Tick(1, []app.Counters{counters(19, 5)})
	p.await("tick of the new sale", func(h heard) bool { return h.Ev == "tick" && h.tick(t)[19].Stock == 5 })
	p.must(`"op":"watch","sales":["41"]`, nil) // keeps it
	n.hub.Tick(2, []app.Counters{counters(19, 4)})
	p.await("tick after another watch", func(h heard) bool { return h.Ev == "tick" && h.tick(t)[19].Stock == 4 })
}

// What changes while a snapshot is being read must not be lost behind that older snapshot.
func TestNewsDuringASnapshotComesAfterIt(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.shop.set(func(s *fakeShop) {
		s.watch = func(app.ID, []app.ID) (app.WatchView, error) {
			view := app.WatchView{Slot: 1, Sales: []app.SaleView{paused(11, 1)}}
			n.hub.SaleChanged(paused(11, 1)) // after the read, before the reply
			n.hub.SlotChanged(app.Slot{ID: 1, Phase: app.Ended})
			return view, nil
		}
	})
	p := n.dial(t)
	p.hello(0, "")
	p.must(`"op":"watch"`, nil)
	p.awaitEvents("sale", 1)
	p.fence()
	reply, sale, slot := -1, -1, -1
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, h := range p.heard {
		switch {
		case h.ID != nil && *h.ID == 2:
			reply = i
		case h.Ev == "sale":
			sale = i
		case h.Ev == "slot":
			slot = i
		}
	}
	if reply == -1 || sale < reply || slot < reply {
		t.Errorf("reply at %d, sale at %d, slot at %d", reply, sale, slot)
	}
}

func TestNewsDeskForgetsNothingNewer(t *testing.T) {
	t.Parallel()
	d := newRecentNews()
	d.put(newsEntry{subject: "a"})
	mark := d.mark()
	d.put(newsEntry{subject: "b"})
	d.put(newsEntry{subject: "a"})
	got := d.since(mark)
	if len(got) != 2 || got[0].subject != "b" || got[1].subject != "a" {
		t.Errorf("since the mark: %+v", got)
	}
}

func TestNoticeIsHeardOnAllNodes(t *testing.T) {
	t.Parallel()
	one, two := startPair(t)
	a, b := one.dial(t), two.dial(t)
	a.hello(0, "")
	b.hello(7, "")
	one.awaitEar()
	two.awaitEar()
	if err := one.hub.Notify(t.Context(), "info", "More kettles at noon."); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*peer{a, b} {
		if got := p.awaitEvents("notice", 1)[0]; got.Text != "More kettles at noon." {
			t.Errorf("heard %+v", got)
		}
	}
}
