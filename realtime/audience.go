package realtime

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app/catalog"
	"stampede/app/shop"
)

const busyRetry = time.Second

// join moves the client to the watch set for w and sends the reply under the same lock, so that no tick precedes the
// snapshot. It returns Busy if no place is left for a new set. A set of exactly one whole slot needs no place, because
// there are only as many such sets as slots.
func (h *Hub) join(c *client, w watching, reply []byte) *shop.Error {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	slots := slices.Clone(w.slots)
	slices.Sort(slots)
	sales := h.salesLocked(slots, w.sales)
	key := setKey(slots, sales)
	set := h.sets[key]
	if set == nil && len(slots)+len(sales) > 0 {
		set = &watchSet{key: key, slots: slots, singles: w.sales, sales: sales}
		if len(slots) != 1 || len(w.sales) > 0 {
			if !h.places.HasRoom(c.currentIdentity().User, c.addr) {
				return shop.FailBusy("too many different watch sets of this user or address; watch a slot", busyRetry)
			}
			h.takePlaceLocked(c, set)
		}
		h.sets[key] = set
	}
	h.leaveSetLocked(c, set)
	c.send(reply)
	if set != nil {
		set.add(c, h.tickNo)
	}
	return nil
}

// salesLocked returns the sales of the slots and the single sales, sorted and without duplicates.
func (h *Hub) salesLocked(slots, singles []shop.ID) []shop.ID {
	sales := slices.Clone(singles)
	for _, slot := range slots {
		sales = append(sales, h.salesBySlot[slot]...)
	}
	slices.Sort(sales)
	return slices.Compact(sales)
}

func (h *Hub) watches(c *client, sale shop.ID) bool {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	return c.set != nil && c.set.has(sale)
}

func (h *Hub) unwatch(c *client) {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	h.leaveSetLocked(c, nil)
}

// leaveSetLocked removes the client from its set. It deletes an empty set, unless the client joins this set again. If
// the client held the place of the set, the place passes to a remaining member.
func (h *Hub) leaveSetLocked(c *client, next *watchSet) {
	old := c.set
	if old == nil {
		return
	}
	left := old.remove(c)
	if old == next {
		return
	}
	if left == 0 {
		delete(h.sets, old.key)
	}
	if old.holder == c {
		h.places.Add(c.currentIdentity().User, c.addr, -1)
		if left > 0 {
			h.takePlaceLocked(old.members[0], old)
		}
	}
}

// takePlaceLocked makes the client the holder of the set's place, and counts the place for its user and address.
func (h *Hub) takePlaceLocked(c *client, s *watchSet) {
	s.holder = c
	h.places.Add(c.currentIdentity().User, c.addr, 1)
}

// recordSlotSales records the sales of the slot in a snapshot, and the closing times of the slot and the single sales.
func (h *Hub) recordSlotSales(view *catalog.WatchView, singles []shop.ID) {
	var sales []shop.ID
	for i := range view.Sales {
		if view.Sales[i].Slot == view.Slot {
			sales = append(sales, view.Sales[i].ID)
		}
	}
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	h.recordClosingTimesLocked(view, singles)
	if view.Slot == 0 {
		return
	}
	h.salesBySlot[view.Slot] = sales
	if len(h.salesBySlot) > maxSlotEntries {
		h.dropUnwatchedSlotsLocked(view.Slot)
	}
}

// maxSlotEntries is the number of slots in salesBySlot above which unwatched slots are dropped.
const maxSlotEntries = 128

func (h *Hub) dropUnwatchedSlotsLocked(joining shop.ID) {
	watched := map[shop.ID]bool{joining: true}
	for _, s := range h.sets {
		for _, slot := range s.slots {
			watched[slot] = true
		}
	}
	for slot := range h.salesBySlot {
		if !watched[slot] {
			delete(h.salesBySlot, slot)
			delete(h.closingTimes, subject{slot, true})
		}
	}
}

func (h *Hub) allSets() []*watchSet {
	h.setsMu.Lock()
	defer h.setsMu.Unlock()
	return slices.Collect(maps.Values(h.sets))
}

// Watched returns the sales that at least one client of this node watches, sorted and without duplicates.
func (h *Hub) Watched() []shop.ID {
	return slices.Sorted(maps.Keys(h.WatchedBy()))
}

// WatchedBy returns the number of this node's connections per watched sale.
func (h *Hub) WatchedBy() map[shop.ID]int64 {
	counts := make(map[shop.ID]int64)
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

// Tick sends the newest counters of the watched sales: one encoded frame per watch set, and none for a set without
// changes. It never waits for a client. The caller sends at most ten ticks per second.
func (h *Hub) Tick(now shop.Millis, counters []shop.Counters) {
	h.tickMu.Lock()
	defer h.tickMu.Unlock()
	h.lineTable.update(counters)
	h.setsMu.Lock()
	h.tickNo = h.lineTable.tickNumber // under the same lock as the list of sets, so that both are of the same tick
	h.tickSets = slices.AppendSeq(h.tickSets[:0], maps.Values(h.sets))
	h.setsMu.Unlock()
	for i, s := range h.tickSets {
		s.queueTick(h.lineTable, now, h.metrics)
		h.tickSets[i] = nil
	}
	h.metrics.ticks.Inc()
}

// SlotChanged notifies all clients of a new slot or phase.
func (h *Hub) SlotChanged(s shop.Slot) {
	entry := recentHint{
		subject: "slot:" + s.ID.String(),
		frame:   newPreparedMessage(encode(slotEvent{"slot", s.ID, s.Phase, s.OpensAt, s.ClosesAt, s.Sales})),
	}
	h.recentHints.put(entry)
	for _, c := range h.allClients() {
		c.offerHint(entry.subject, entry.frame)
		h.waitForWriters()
	}
}

// SaleChanged notifies the clients that watch the sale or its slot. A new sale of a watched slot becomes watched.
func (h *Hub) SaleChanged(v shop.SaleView) {
	entry := recentHint{subject: "sale:" + v.ID.String(), sale: v.ID, frame: newPreparedMessage(encode(saleEvent{"sale", v}))}
	h.recentHints.put(entry)
	h.setsMu.Lock()
	if sales, ok := h.salesBySlot[v.Slot]; ok && !slices.Contains(sales, v.ID) {
		h.salesBySlot[v.Slot] = append(slices.Clone(sales), v.ID)
	}
	h.setsMu.Unlock()
	for _, s := range h.allSets() {
		if s.extend(v.Slot, v.ID) {
			s.each(func(c *client) { c.offerHint(entry.subject, entry.frame) })
		}
	}
}

// SendBanner sends the operators' banner to all clients. A banner without text withdraws the previous one.
func (h *Hub) SendBanner(n shop.Notice) {
	frame := bannerFrame(n)
	for _, c := range h.allClients() {
		c.offerHint(bannerSubject, frame)
		h.waitForWriters()
	}
}

// bannerSubject is the subject of banners. A newer banner replaces a queued one.
const bannerSubject = "notice"

func bannerFrame(n shop.Notice) *websocket.PreparedMessage {
	level := "info"
	if n.Level == "warning" {
		level = "warn"
	}
	return newPreparedMessage(encode(noticeEvent{"notice", level, n.Text, n.Until, n.Texts}))
}

// sendBanner sends the current banner to a new client.
func (c *client) sendBanner() {
	if c.hub.options.CurrentBanner == nil {
		return
	}
	if n, ok := c.hub.options.CurrentBanner(); ok {
		c.offerHint(bannerSubject, bannerFrame(n))
	}
}

// recentHints keeps the hints about slots and sales for hintRetention. A new watcher reads a snapshot and then joins a
// set. The hints that were published in between are sent to this watcher again, newest last.
type recentHints struct {
	mu      sync.Mutex
	count   int64 // number of hints so far
	entries []recentHint
}

type recentHint struct {
	subject string
	sale    shop.ID // 0: a slot hint, for all clients
	frame   *websocket.PreparedMessage
	at      time.Time
}

// hintRetention is longer than any snapshot takes.
const hintRetention = time.Minute

func (d *recentHints) put(e recentHint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	e.at = time.Now()
	old := 0
	for old < len(d.entries) && e.at.Sub(d.entries[old].at) > hintRetention {
		old++
	}
	d.entries = append(slices.Delete(d.entries, 0, old), e)
}

// mark returns the current position in the hints.
func (d *recentHints) mark() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// since returns the hints after the mark, oldest first.
func (d *recentHints) since(mark int64) []recentHint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries[max(0, len(d.entries)-int(d.count-mark)):])
}
