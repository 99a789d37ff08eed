package realtime

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"stampede/app/shop"
)

// watching is what one client watches: slots with all their sales, and single sales.
type watching struct {
	slots []shop.ID
	sales []shop.ID
}

// with returns w after a further watch.
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

// without returns w after an unwatch; naming nothing removes everything.
func (w watching) without(slot shop.ID, sales []shop.ID) watching {
	if slot == 0 && len(sales) == 0 {
		return watching{}
	}
	return watching{
		slots: slices.DeleteFunc(slices.Clone(w.slots), func(id shop.ID) bool { return id == slot }),
		sales: slices.DeleteFunc(slices.Clone(w.sales), func(id shop.ID) bool { return slices.Contains(sales, id) }),
	}
}

// watchSet is a sorted list of sales and the clients that watch exactly these; it is dropped with the last one. A tick
// is encoded once per set.
type watchSet struct {
	key     string
	singles []shop.ID // watched one by one; guarded by the hub's setsMu, as writing slots is
	holder  *client   // the member for which the set has a place; nil: it needs none; guarded by the hub's setsMu

	mu      sync.Mutex
	slots   []shop.ID // whose new sales join the set; replaced, never changed
	sales   []shop.ID // sorted; replaced, never changed
	members []*client
	fresh   []newcomer
}

// newcomer is a member who needs the whole set once, because its snapshot may be older than the board.
type newcomer struct {
	client *client
	since  int64 // the tick that was the newest when it joined
}

// setKey identifies a set by its slots and sales, both sorted.
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

// add makes the client a member. It gets the whole set with the second tick from now: the first one may come from a
// read that did not include its sales.
func (s *watchSet) add(c *client, tickNo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.set, c.index = s, len(s.members)
	s.members = append(s.members, c)
	s.fresh = append(s.fresh, newcomer{c, tickNo})
}

// remove takes the client out and returns how many are left.
func (s *watchSet) remove(c *client) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.members) - 1
	s.members[c.index] = s.members[last]
	s.members[c.index].index = c.index
	s.members[last] = nil
	s.members = s.members[:last]
	s.fresh = slices.DeleteFunc(s.fresh, func(n newcomer) bool { return n.client == c })
	c.set = nil
	c.dropTick()
	return last
}

// extend lets a new sale of a watched slot join the set; false: the set does not watch it.
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

// narrow leaves only these slots and sales in the set. The hub's setsMu is held.
func (s *watchSet) narrow(slots, singles, sales []shop.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots, s.singles, s.sales = slots, singles, sales
}

// beat offers the newest tick to all members when something changed, else only to newcomers.
func (s *watchSet) beat(b *lineTable, now shop.Millis, m *metrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := b.linesSince(b.no, s.sales)
	due := s.dueNewcomers(b.no)
	if len(changed) == 0 && len(due) == 0 {
		return
	}
	all := b.linesSince(0, s.sales)
	if len(all) == 0 {
		return // not in Redis yet; sales that appear there count as changed
	}
	t := newTick(now, changed, all, m.encodedTicks)
	if len(changed) > 0 {
		s.eachLocked(func(c *client) { c.offerTick(t, c.wholeAt == b.no) })
		return
	}
	for _, n := range due {
		n.client.offerTick(t, true)
	}
}

// dueNewcomers removes and marks the newcomers that get the whole set with this tick.
func (s *watchSet) dueNewcomers(no int64) []newcomer {
	n := 0
	for n < len(s.fresh) && s.fresh[n].since+2 <= no {
		s.fresh[n].client.wholeAt = no
		n++
	}
	due := s.fresh[:n:n]
	if s.fresh = s.fresh[n:]; len(s.fresh) == 0 {
		s.fresh = nil
	}
	return due
}

func (s *watchSet) each(fn func(c *client)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eachLocked(fn)
}

// eachLocked calls fn for every member. It unlocks while writers begin, so members may come and go; the last one takes
// the place of one that leaves. Going backwards therefore skips nobody; at worst a member is called twice.
func (s *watchSet) eachLocked(fn func(c *client)) {
	for i := len(s.members) - 1; i >= 0; i = min(i, len(s.members)) - 1 {
		c := s.members[i]
		fn(c)
		if c.hub.tooManyStarting() {
			s.mu.Unlock()
			c.hub.letWritersBegin()
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
