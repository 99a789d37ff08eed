package realtime

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app/catalog"
	"stampede/app/limits"
	"stampede/app/shop"
)

const busyRetry = time.Second

// watchSets are the watch sets of this node. They implement catalog.Audience for the ticker.
type watchSets struct {
	options *Options
	conns   *connections
	metrics *metrics

	mu           sync.Mutex
	sets         map[string]*watchSet
	salesBySlot  map[shop.ID][]shop.ID   // sales of each watched slot
	closingTimes map[subject]shop.Millis // closing times; a subject without an entry is not watched
	tickNo       int64                   // number of the newest tick
	places       limits.Places           // the quota of watch sets; a set of one whole slot needs no place

	tickMu    sync.Mutex // serializes ticks
	lineTable *lineTable
	tickSets  []*watchSet // buffer, reused by each tick

	recentHints recentHints
}

func newWatchSets(o *Options, conns *connections) *watchSets {
	return &watchSets{
		options: o, conns: conns, sets: make(map[string]*watchSet), salesBySlot: make(map[shop.ID][]shop.ID),
		closingTimes: make(map[subject]shop.Millis), lineTable: newLineTable(),
		places: limits.Places{Max: o.MaxSets, User: maxSetsPerUser, Addr: maxSetsPerAddr},
	}
}

// join moves the client to the watch set for w and sends the reply under the same lock, so that no tick precedes the
// snapshot. It returns Busy if no place is left for a new set. A set of exactly one whole slot needs no place, because
// there are only as many such sets as slots.
func (ws *watchSets) join(c *client, w watching, reply []byte) *shop.Error {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	slots := slices.Clone(w.slots)
	slices.Sort(slots)
	sales := ws.salesLocked(slots, w.sales)
	key := setKey(slots, sales)
	set := ws.sets[key]
	if set == nil && len(slots)+len(sales) > 0 {
		set = &watchSet{key: key, slots: slots, singles: w.sales, sales: sales}
		if len(slots) != 1 || len(w.sales) > 0 {
			if !ws.places.HasRoom(c.currentIdentity().User, c.addr) {
				return shop.FailBusy("too many different watch sets of this user or address; watch a slot", busyRetry)
			}
			ws.takePlaceLocked(c, set)
		}
		ws.sets[key] = set
	}
	ws.leaveSetLocked(c, set)
	c.send(reply)
	if set != nil {
		set.add(c, ws.tickNo)
	}
	return nil
}

// salesLocked returns the sales of the slots and the single sales, sorted and without duplicates.
func (ws *watchSets) salesLocked(slots, singles []shop.ID) []shop.ID {
	sales := slices.Clone(singles)
	for _, slot := range slots {
		sales = append(sales, ws.salesBySlot[slot]...)
	}
	slices.Sort(sales)
	return slices.Compact(sales)
}

func (ws *watchSets) watches(c *client, sale shop.ID) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return c.set != nil && c.set.has(sale)
}

func (ws *watchSets) unwatch(c *client) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.leaveSetLocked(c, nil)
}

// leaveSetLocked removes the client from its set. It deletes an empty set, unless the client joins this set again. If
// the client held the place of the set, the place passes to a remaining member.
func (ws *watchSets) leaveSetLocked(c *client, next *watchSet) {
	old := c.set
	if old == nil {
		return
	}
	left := old.remove(c)
	if old == next {
		return
	}
	if left == 0 {
		delete(ws.sets, old.key)
	}
	if old.holder == c {
		ws.places.Add(c.currentIdentity().User, c.addr, -1)
		if left > 0 {
			ws.takePlaceLocked(old.members[0], old)
		}
	}
}

// takePlaceLocked makes the client the holder of the set's place, and counts the place for its user and address.
func (ws *watchSets) takePlaceLocked(c *client, s *watchSet) {
	s.holder = c
	ws.places.Add(c.currentIdentity().User, c.addr, 1)
}

// recordSnapshot records from a snapshot the sales of its slot, and the closing times of the slot and the single sales.
func (ws *watchSets) recordSnapshot(view *catalog.WatchView, singles []shop.ID) {
	var sales []shop.ID
	for i := range view.Sales {
		if view.Sales[i].Slot == view.Slot {
			sales = append(sales, view.Sales[i].ID)
		}
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.recordClosingTimesLocked(view, singles)
	if view.Slot == 0 {
		return
	}
	ws.salesBySlot[view.Slot] = sales
	if len(ws.salesBySlot) > maxSlotEntries {
		ws.dropUnwatchedSlotsLocked(view.Slot)
	}
}

// maxSlotEntries is the number of slots in salesBySlot above which unwatched slots are dropped.
const maxSlotEntries = 128

func (ws *watchSets) dropUnwatchedSlotsLocked(joining shop.ID) {
	watched := map[shop.ID]bool{joining: true}
	for _, s := range ws.sets {
		for _, slot := range s.slots {
			watched[slot] = true
		}
	}
	for slot := range ws.salesBySlot {
		if !watched[slot] {
			delete(ws.salesBySlot, slot)
			delete(ws.closingTimes, subject{id: slot, slot: true})
		}
	}
}

func (ws *watchSets) allSets() []*watchSet {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Collect(maps.Values(ws.sets))
}

// Watched returns the sales that at least one client of this node watches, sorted and without duplicates.
func (ws *watchSets) Watched() []shop.ID {
	return slices.Sorted(maps.Keys(ws.WatchedBy()))
}

// WatchedBy returns the number of this node's connections per watched sale.
func (ws *watchSets) WatchedBy() map[shop.ID]int64 {
	counts := make(map[shop.ID]int64)
	for _, s := range ws.allSets() {
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
func (ws *watchSets) Tick(now shop.Millis, counters []shop.Counters) {
	ws.tickMu.Lock()
	defer ws.tickMu.Unlock()
	ws.lineTable.update(counters)
	ws.mu.Lock()
	ws.tickNo = ws.lineTable.tickNumber // under the same lock as the list of sets, so that both are of the same tick
	ws.tickSets = slices.AppendSeq(ws.tickSets[:0], maps.Values(ws.sets))
	ws.mu.Unlock()
	for i, s := range ws.tickSets {
		s.queueTick(ws.lineTable, now, ws.metrics)
		ws.tickSets[i] = nil
	}
	ws.metrics.ticks.Inc()
}

// SlotChanged notifies all clients of a new slot or phase.
func (ws *watchSets) SlotChanged(s shop.Slot) {
	entry := recentHint{
		subject: "slot:" + s.ID.String(),
		frame:   newPreparedMessage(encode(slotEvent{"slot", s.ID, s.Phase, s.OpensAt, s.ClosesAt, s.Sales})),
	}
	ws.recentHints.put(entry)
	for _, c := range ws.conns.allClients() {
		c.offerHint(entry.subject, entry.frame)
		ws.conns.waitForWriters()
	}
}

// SaleChanged notifies the clients that watch the sale or its slot. A new sale of a watched slot becomes watched.
func (ws *watchSets) SaleChanged(v shop.SaleView) {
	entry := recentHint{subject: "sale:" + v.ID.String(), sale: v.ID, frame: newPreparedMessage(encode(saleEvent{"sale", v}))}
	ws.recentHints.put(entry)
	ws.mu.Lock()
	if sales, ok := ws.salesBySlot[v.Slot]; ok && !slices.Contains(sales, v.ID) {
		ws.salesBySlot[v.Slot] = append(slices.Clone(sales), v.ID)
	}
	ws.mu.Unlock()
	for _, s := range ws.allSets() {
		if s.extend(v.Slot, v.ID) {
			s.each(func(c *client) { c.offerHint(entry.subject, entry.frame) })
		}
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

func (r *recentHints) put(e recentHint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	e.at = time.Now()
	old := 0
	for old < len(r.entries) && e.at.Sub(r.entries[old].at) > hintRetention {
		old++
	}
	r.entries = append(slices.Delete(r.entries, 0, old), e)
}

// mark returns the current position in the hints.
func (r *recentHints) mark() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// since returns the hints after the mark, oldest first.
func (r *recentHints) since(mark int64) []recentHint {
	r.mu.Lock()
	defer r.mu.Unlock()
	missed := int(r.count - mark)
	return slices.Clone(r.entries[max(0, len(r.entries)-missed):])
}
