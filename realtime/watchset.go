package realtime

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"stampede/app/shop"
)

// watching lists the subjects of one client: slots with all their sales, and single sales.
type watching struct {
	slots []shop.ID
	sales []shop.ID
}

// with returns w plus the slot and the sales.
func (w watching) with(slot shop.ID, sales []shop.ID) watching {
	next := watching{slots: slices.Clone(w.slots), sales: slices.Clone(w.sales)}
	if slot != 0 && !slices.Contains(next.slots, slot) {
		next.slots = append(next.slots, slot)
	}
	for _, id := range sales {
		if !slices.Contains(next.sales, id) {
			next.sales = append(next.sales, id)
		}
	}
	return next
}

// without returns w minus the slot and the sales. If both are empty, it removes everything.
func (w watching) without(slot shop.ID, sales []shop.ID) watching {
	if slot == 0 && len(sales) == 0 {
		return watching{}
	}
	return watching{
		slots: slices.DeleteFunc(slices.Clone(w.slots), func(id shop.ID) bool { return id == slot }),
		sales: slices.DeleteFunc(slices.Clone(w.sales), func(id shop.ID) bool { return slices.Contains(sales, id) }),
	}
}

// watchSet is a sorted list of sales and the clients that watch exactly these sales. A tick is encoded once per set.
// The set is deleted when its last client leaves.
type watchSet struct {
	key     string
	singles []shop.ID // single sales; guarded by the mutex of watchSets, as are writes to slots
	holder  *client   // member that holds the place of the set; nil: no place needed; guarded by the mutex of watchSets

	mu        sync.Mutex
	slots     []shop.ID // new sales of these slots join the set; replaced, never modified
	sales     []shop.ID // sorted; replaced, never modified
	members   []*client
	newcomers []newcomer
}

// newcomer is a member that needs the whole set once, because its snapshot may be older than the line table.
type newcomer struct {
	client *client
	since  int64 // number of the newest tick when the client joined
}

// setKey returns the key of a set with these slots and sales, both sorted.
func setKey(slots, sales []shop.ID) string {
	var b strings.Builder
	b.Grow(20 * (len(slots) + len(sales) + 1))
	var digits [20]byte
	for _, ids := range [...][]shop.ID{slots, sales} {
		for _, id := range ids {
			b.Write(strconv.AppendInt(digits[:0], int64(id), 36))
			b.WriteByte(',')
		}
		b.WriteByte('|')
	}
	return b.String()
}

// add adds the client. The client receives the whole set with the second tick from now: the counters of the first tick
// may have been read without the sales of the set.
func (s *watchSet) add(c *client, tickNo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.set, c.index = s, len(s.members)
	s.members = append(s.members, c)
	s.newcomers = append(s.newcomers, newcomer{c, tickNo})
}

// remove removes the client and returns the number of remaining members.
func (s *watchSet) remove(c *client) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.members) - 1
	s.members[c.index] = s.members[last]
	s.members[c.index].index = c.index
	s.members[last] = nil
	s.members = s.members[:last]
	s.newcomers = slices.DeleteFunc(s.newcomers, func(n newcomer) bool { return n.client == c })
	c.set = nil
	c.dropTick()
	return last
}

// extend adds a new sale of a watched slot to the set and reports whether the set watches the sale.
func (s *watchSet) extend(slot, sale shop.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, found := slices.BinarySearch(s.sales, sale)
	if found {
		return true
	}
	if !slices.Contains(s.slots, slot) {
		return false
	}
	s.sales = slices.Insert(slices.Clone(s.sales), at, sale)
	return true
}

// narrow reduces the set to these slots and sales. The caller holds the mutex of watchSets.
func (s *watchSet) narrow(slots, singles, sales []shop.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots, s.singles, s.sales = slots, singles, sales
}

// queueTick queues the newest tick for all members if a line has changed, otherwise only for newcomers that are due.
func (s *watchSet) queueTick(b *lineTable, now shop.Millis, m *metrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := b.linesSince(b.tickNumber, s.sales)
	due := s.dueNewcomers(b.tickNumber)
	if len(changed) == 0 && len(due) == 0 {
		return
	}
	all := b.linesSince(0, s.sales)
	if len(all) == 0 {
		return // not in Redis yet; new sales count as changed
	}
	t := newTick(now, changed, all, m.encodedTicks)
	if len(changed) > 0 {
		s.eachLocked(func(c *client) { c.offerTick(t, c.wholeAt == b.tickNumber) })
		return
	}
	for _, n := range due {
		n.client.offerTick(t, true)
	}
}

// dueNewcomers removes and returns the newcomers that receive the whole set with this tick, and marks them.
func (s *watchSet) dueNewcomers(tickNumber int64) []newcomer {
	n := 0
	for n < len(s.newcomers) && s.newcomers[n].since+2 <= tickNumber {
		s.newcomers[n].client.wholeAt = tickNumber
		n++
	}
	due := s.newcomers[:n:n]
	if s.newcomers = s.newcomers[n:]; len(s.newcomers) == 0 {
		s.newcomers = nil
	}
	return due
}

func (s *watchSet) each(fn func(c *client)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eachLocked(fn)
}

// eachLocked calls fn for every member. It unlocks while writers start, so members may join and leave. The last member
// takes the index of a member that leaves. The backward iteration therefore skips no member; at worst, it calls fn
// twice for one member.
func (s *watchSet) eachLocked(fn func(c *client)) {
	for i := len(s.members) - 1; i >= 0; i = min(i, len(s.members)) - 1 {
		c := s.members[i]
		fn(c)
		if c.hub.tooManyStarting() {
			s.mu.Unlock()
			c.hub.waitForWriters()
			s.mu.Lock()
		}
	}
}

func (s *watchSet) size() (sales []shop.ID, members int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sales, len(s.members)
}

func (s *watchSet) has(sale shop.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := slices.BinarySearch(s.sales, sale)
	return found
}
