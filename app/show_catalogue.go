package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// catalogueAge is how old the known catalogue version may be before a "no" of the filter no longer counts (I11).
	catalogueAge = time.Second
	// cacheBound keeps the snapshot cache from growing with every id ever asked for.
	cacheBound = 20_000
	// slotsShown is how many slots a shopper sees at most; past ones give way first.
	slotsShown = 12
	pastShown  = 2
)

// IDFilter may say yes to an id that was not put into it, but never no to one that was.
type IDFilter func(id ID) bool

// Catalogue is this node's snapshot of what is offered. It is dropped whenever the catalogue's version
// moves, so that it is at most about a second old (I11).
type Catalogue struct {
	source    CatalogueStore
	newFilter func(ids []ID) IDFilter
	zone      *time.Location
	// Least is what every sale asks of its buyers at least; nil: nothing. When its answer changes, call Forget.
	Least func() Challenge

	mu       sync.RWMutex
	version  int64
	seen     time.Time // when the version was last read, monotonic
	filter   IDFilter  // nil: none was read yet
	sales    map[ID]*Sale
	bySlot   map[ID][]*Sale
	today    []Slot
	todayFor string // the day that today was read for
}

// NewCatalogue makes an empty snapshot; zone decides which slots are today's.
func NewCatalogue(source CatalogueStore, newFilter func(ids []ID) IDFilter, zone *time.Location) *Catalogue {
	return &Catalogue{
		source: source, newFilter: newFilter, zone: zone, version: -1,
		sales: make(map[ID]*Sale), bySlot: make(map[ID][]*Sale),
	}
}

// Refresh looks whether the catalogue's version moved, and if so forgets the snapshot and reads a new filter.
func (c *Catalogue) Refresh(ctx context.Context) error {
	asked := time.Now()
	version, err := c.source.Version(ctx)
	if err != nil {
		return fmt.Errorf("read catalogue version: %w", err)
	}
	if c.confirm(version, asked) {
		return nil
	}
	// The ids are read after the version, so the filter knows at least what that version has.
	ids, err := c.source.SaleIDs(ctx)
	if err != nil {
		return fmt.Errorf("read sale ids: %w", err)
	}
	filter := c.newFilter(ids)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version, c.seen, c.filter = version, asked, filter
	c.forget()
	return nil
}

// confirm notes when the version was seen to be still the one that the snapshot is of; false: it is not.
func (c *Catalogue) confirm(version int64, asked time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return false
	}
	c.seen = asked
	return true
}

// Forget has everything read again: what the node makes of it has changed.
func (c *Catalogue) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = -1 // what is being read meanwhile is not kept
	c.forget()
}

// raise makes a sale ask for what all ask for at least.
func (c *Catalogue) raise(sale *Sale) {
	if c.Least != nil {
		sale.Challenge = sale.Challenge.atLeast(c.Least())
	}
}

func (c *Catalogue) forget() {
	clear(c.sales)
	clear(c.bySlot)
	c.today, c.todayFor = nil, ""
}

// Sale finds a sale by id. NotFound when there is none; ids that never were are turned away without
// asking the database.
func (c *Catalogue) Sale(ctx context.Context, id ID) (*Sale, error) {
	c.mu.RLock()
	sale, filter, seen := c.sales[id], c.filter, c.seen
	c.mu.RUnlock()
	if sale != nil {
		return sale, nil
	}
	if filter != nil && !filter(id) && time.Since(seen) < catalogueAge {
		return nil, Fail(NotFound, "no such sale")
	}
	return c.load(ctx, id)
}

func (c *Catalogue) load(ctx context.Context, id ID) (*Sale, error) {
	version := c.currentVersion()
	sale, err := c.source.Sale(ctx, id)
	if errors.Is(err, ErrNoRow) {
		return nil, Fail(NotFound, "no such sale")
	}
	if err != nil {
		return nil, Unreadable("the sale", fmt.Errorf("sale %s: %w", id, err))
	}
	c.raise(&sale)
	c.keep(version, func() { c.sales[id] = &sale })
	return &sale, nil
}

func (c *Catalogue) currentVersion() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version
}

// keep caches what was read, unless the catalogue moved while it was being read.
func (c *Catalogue) keep(version int64, put func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return
	}
	if len(c.sales) > cacheBound {
		clear(c.sales)
	}
	put()
}

// SalesOfSlot lists the sales of a slot in the order they are shown. NotFound when there is no such slot.
func (c *Catalogue) SalesOfSlot(ctx context.Context, slot ID) ([]*Sale, error) {
	c.mu.RLock()
	sales, ok := c.bySlot[slot]
	version := c.version
	c.mu.RUnlock()
	if ok {
		return sales, nil
	}
	if _, err := c.source.Slot(ctx, slot); errors.Is(err, ErrNoRow) {
		return nil, Fail(NotFound, "no such slot")
	}
	rows, err := c.source.SalesOfSlot(ctx, slot)
	if err != nil {
		return nil, Unreadable("the slot", fmt.Errorf("sales of slot %s: %w", slot, err))
	}
	sales = pointers(rows)
	for _, s := range sales {
		c.raise(s)
	}
	c.keep(version, func() {
		c.bySlot[slot] = sales
		for _, s := range sales {
			c.sales[s.ID] = s
		}
	})
	return sales, nil
}

// Today lists the slots that a shopper should see at the instant now: those of the shop's day (and of the
// next one when nothing more comes today), at most slotsShown of them around the current one.
func (c *Catalogue) Today(ctx context.Context, now Millis) ([]Slot, error) {
	local := now.Time().In(c.zone)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, c.zone)
	slots, err := c.slotsFrom(ctx, day)
	if err != nil {
		return nil, err
	}
	tomorrow := MillisOf(day.AddDate(0, 0, 1))
	shown := make([]Slot, 0, len(slots))
	for _, s := range slots {
		lastShown := len(shown) > 0 && shown[len(shown)-1].ClosesAt > now
		if s.OpensAt >= tomorrow && lastShown {
			break // today still has something to offer
		}
		s.Phase = PhaseAt(now, s.OpensAt, s.ClosesAt)
		shown = append(shown, s)
	}
	return around(shown, now), nil
}

// around cuts a long list down to the slots around the current one.
func around(slots []Slot, now Millis) []Slot {
	if len(slots) <= slotsShown {
		return slots
	}
	current := 0
	for current < len(slots)-1 && slots[current].ClosesAt <= now {
		current++
	}
	first := min(max(0, current-pastShown), len(slots)-slotsShown)
	return slots[first : first+slotsShown]
}

// slotsFrom reads the slots of the day and of the one after it.
func (c *Catalogue) slotsFrom(ctx context.Context, day time.Time) ([]Slot, error) {
	key := day.Format(time.DateOnly)
	c.mu.RLock()
	slots, ok, version := c.today, c.todayFor == key, c.version
	c.mu.RUnlock()
	if ok {
		return slots, nil
	}
	slots, err := c.source.Slots(ctx, MillisOf(day), MillisOf(day.AddDate(0, 0, 2)))
	if err != nil {
		return nil, Unreadable("the slots", fmt.Errorf("%s: %w", key, err))
	}
	c.keep(version, func() { c.today, c.todayFor = slots, key })
	return slots, nil
}

// SlotsOfDay lists the slots of one day of the shop's calendar, each with its phase at the instant now.
func (c *Catalogue) SlotsOfDay(ctx context.Context, day time.Time, now Millis) ([]Slot, error) {
	start := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, c.zone)
	slots, err := c.source.Slots(ctx, MillisOf(start), MillisOf(start.AddDate(0, 0, 1)))
	if err != nil {
		return nil, Unreadable("the slots", err)
	}
	for i := range slots {
		slots[i].Phase = PhaseAt(now, slots[i].OpensAt, slots[i].ClosesAt)
	}
	return slots, nil
}

// OpenSales counts the sales that are open now and not paused, as far as they can be read.
func (c *Catalogue) OpenSales(ctx context.Context, now Millis) (n int) {
	slots, err := c.Today(ctx, now)
	if err != nil {
		return 0
	}
	for _, slot := range slots {
		if slot.Phase != Open {
			continue
		}
		sales, _ := c.SalesOfSlot(ctx, slot.ID)
		for _, s := range sales {
			if PhaseAt(now, s.OpensAt, s.ClosesAt) == Open && !s.Paused {
				n++
			}
		}
	}
	return n
}

// Age is how long ago the database told the version of the catalogue, which it is asked for all the time.
func (c *Catalogue) Age() time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.seen.IsZero() {
		return 0
	}
	return time.Since(c.seen)
}

// Zone is the shop's time zone.
func (c *Catalogue) Zone() *time.Location { return c.zone }
