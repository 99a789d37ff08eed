package realtime

import (
	"maps"
	"slices"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

const busyRetry = time.Second

// join puts the client into the watch set of what it watches from now on. The reply with the snapshot is sent in the
// same step, so that no tick of the set can come before it. Busy: there are too many different sets.
func (h *Hub) join(c *client, w watching, reply []byte) *app.Error {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	slots := slices.Clone(w.slots)
	slices.Sort(slots)
	sales := h.salesLocked(slots, w.sales)
	key := setKey(slots, sales)
	set := h.sets[key]
	if set == nil && len(slots)+len(sales) > 0 {
		if len(h.sets) >= h.options.MaxSets {
			return app.FailBusy("too many different things are watched on this node; watch a whole slot", busyRetry)
		}
		set = &watchSet{key: key, slots: slots, singles: w.sales, sales: sales}
		h.sets[key] = set
	}
	h.leaveSetLocked(c, set)
	c.send(reply)
	if set != nil {
		set.add(c, h.tickNo)
	}
	return nil
}

// salesLocked lists the sales of the slots and the single ones, sorted, each once.
func (h *Hub) salesLocked(slots, singles []app.ID) []app.ID {
	sales := slices.Clone(singles)
	for _, slot := range slots {
		sales = append(sales, h.roster[slot]...)
	}
	slices.Sort(sales)
	return slices.Compact(sales)
}

// watches reports whether the client watches the sale.
func (h *Hub) watches(c *client, sale app.ID) bool {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	return c.set != nil && c.set.has(sale)
}

// unwatch takes the client out of its set, if it has one.
func (h *Hub) unwatch(c *client) {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	h.leaveSetLocked(c, nil)
}

// leaveSetLocked takes the client out of its set and drops the set when it was the last one, unless it is about
// to join that set again.
func (h *Hub) leaveSetLocked(c *client, next *watchSet) {
	old := c.set
	if old == nil {
		return
	}
	if old.remove(c) == 0 && old != next {
		delete(h.sets, old.key)
	}
}

// enrol notes what a snapshot said: which sales its slot has, and when the slot and the single sales close.
func (h *Hub) enrol(view *app.WatchView, singles []app.ID) {
	var sales []app.ID
	for i := range view.Sales {
		if view.Sales[i].Slot == view.Slot {
			sales = append(sales, view.Sales[i].ID)
		}
	}
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	h.noteLocked(view, singles)
	if view.Slot == 0 {
		return
	}
	h.roster[view.Slot] = sales
	if len(h.roster) > maxRosters {
		h.forgetRostersLocked(view.Slot)
	}
}

// maxRosters is how many slots are remembered before those that nobody watches any more are forgotten.
const maxRosters = 128

func (h *Hub) forgetRostersLocked(joining app.ID) {
	watched := map[app.ID]bool{joining: true}
	for _, s := range h.sets {
		for _, slot := range s.slots {
			watched[slot] = true
		}
	}
	for slot := range h.roster {
		if !watched[slot] {
			delete(h.roster, slot)
			delete(h.closes, subject{slot, true})
		}
	}
}

// allSets lists the watch sets.
func (h *Hub) allSets() []*watchSet {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	return slices.Collect(maps.Values(h.sets))
}

// Watched lists the sales that at least one client of this node watches, without repeats.
func (h *Hub) Watched() []app.ID {
	return slices.Sorted(maps.Keys(h.WatchedBy()))
}

// WatchedBy counts this node's connections per watched sale.
func (h *Hub) WatchedBy() map[app.ID]int64 {
	counts := make(map[app.ID]int64)
	for _, s := range h.allSets() {
		sales, members := s.size()
		if members == 0 {
			continue
		}
		for _, id := range sales {
			counts[id] += int64(members)
		}
	}
	return counts
}

// Tick offers the newest counters of the watched sales: one encoded frame per watch set, however many clients watch
// it, and none where nothing changed. It never waits for a client. Calls must not come more often
// than ten times a second; that is the caller's rhythm.
func (h *Hub) Tick(now app.Millis, counters []app.Counters) {
	h.beatMu.Lock()
	defer h.beatMu.Unlock()
	h.board.update(counters)
	h.setsMu.Lock()
	h.tickNo = h.board.no // with the list of sets, so that a set knows which ticks it has seen
	h.beats = slices.AppendSeq(h.beats[:0], maps.Values(h.sets))
	h.setsMu.Unlock()
	for i, s := range h.beats {
		s.beat(h.board, now, h.metrics)
		h.beats[i] = nil
	}
	h.metrics.ticks.Inc()
}

// SlotChanged tells everyone of a slot that has changed its phase or has appeared.
func (h *Hub) SlotChanged(s app.Slot) {
	item := newsEntry{
		subject: "slot:" + s.ID.String(),
		frame:   prepared(encode(slotEvent{"slot", s.ID, s.Phase, s.OpensAt, s.ClosesAt, s.Sales})),
	}
	h.news.put(item)
	for _, c := range h.everybody() {
		c.offerNews(item.subject, item.frame)
		h.letWritersBegin()
	}
}

// SaleChanged tells everyone who watches the sale or its slot. A new sale of a watched slot is watched from now on.
func (h *Hub) SaleChanged(v app.SaleView) {
	item := newsEntry{subject: "sale:" + v.ID.String(), sale: v.ID, frame: prepared(encode(saleEvent{"sale", v}))}
	h.news.put(item)
	h.setsMu.Lock()
	if sales, ok := h.roster[v.Slot]; ok && !slices.Contains(sales, v.ID) {
		h.roster[v.Slot] = append(slices.Clone(sales), v.ID)
	}
	h.setsMu.Unlock()
	for _, s := range h.allSets() {
		if s.extend(v.Slot, v.ID) {
			s.each(func(c *client) { c.offerNews(item.subject, item.frame) })
		}
	}
}

// Say gives the notice of operators to everyone on this node; one without a text takes back the one before.
func (h *Hub) Say(n app.Notice) {
	frame := standingFrame(n)
	for _, c := range h.everybody() {
		c.offerNews(standingSubject, frame)
		h.letWritersBegin()
	}
}

// standingSubject is what the notice of operators is about: there is one at a time, and the newest counts.
const standingSubject = "notice"

func standingFrame(n app.Notice) *websocket.PreparedMessage {
	level := "info"
	if n.Level == "warning" {
		level = "warn"
	}
	return prepared(encode(noticeEvent{"notice", level, n.Text, n.Until, n.Texts}))
}

// sayStanding gives the notice that stands to somebody who has just come.
func (c *client) sayStanding() {
	if c.hub.options.Standing == nil {
		return
	}
	if n, ok := c.hub.options.Standing(); ok {
		c.offerNews(standingSubject, standingFrame(n))
	}
}
