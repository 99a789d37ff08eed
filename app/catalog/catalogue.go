package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// catalogueInterval is the interval between checks of the catalogue version.
	catalogueInterval = 500 * time.Millisecond
	// readTimeout is the time limit of database reads for the catalogue. A stalled database counts as unavailable.
	readTimeout = 2 * time.Second
	// maxCatalogueAge is the maximum age of the known catalogue version at which a negative filter result counts (I11).
	maxCatalogueAge = time.Second
	// maxCachedSales limits the snapshot cache, which otherwise grows with each requested ID.
	maxCachedSales = 20_000
	// saleRetention is how long after its end a sale is still included in catalogue refreshes. Older sales are read on
	// demand.
	saleRetention = time.Hour
	// maxSlotsShown is the maximum number of slots that a shopper sees. A longer list is cut so that it starts
	// maxPastShown slots before the current slot, or earlier if the list would be shorter than maxSlotsShown.
	maxSlotsShown = 12
	maxPastShown  = 2
)

// IDFilter reports whether an ID may exist. It is never false for an ID that it was built with.
type IDFilter = func(id shop.ID) bool

// Catalogue is this node's snapshot of slots and sales. It is replaced after each change of the catalogue version, so
// it is at most about a second old (I11). The new snapshot is complete before it replaces the old one: no client waits
// for the database after an operator's change. If the database fails meanwhile, the old snapshot stays.
type Catalogue struct {
	catalogue CatalogueStore
	sales     SaleStore
	newFilter func(ids []shop.ID) IDFilter
	zone      *time.Location
	// MinChallenge returns the minimum entry check of every sale; nil: no minimum. After its result changes, call
	// Invalidate.
	MinChallenge func() shop.Challenge

	loadingSale  shop.SharedLoad[loadKey, *shop.Sale]
	loadingSlot  shop.SharedLoad[loadKey, []*shop.Sale]
	loadingSlots shop.SharedLoad[loadKey, []shop.Slot]

	mu            sync.RWMutex
	version       int64
	versionReadAt time.Time // start of the last version read, monotonic
	filter        IDFilter  // nil: not read yet
	known         snapshot
}

// loadKey includes the version, so that no caller waits for a load that started before a change that the caller may
// have seen.
type loadKey struct{ version, id int64 }

// snapshot has the data read for one version.
type snapshot struct {
	sales    map[shop.ID]*shop.Sale
	bySlot   map[shop.ID][]*shop.Sale
	slots    []shop.Slot // of the day firstDay and the next day
	firstDay string      // the first day in slots
}

// slotsFrom returns the slots of a day and the next one, if they are cached. After midnight the data of the previous
// day are sufficient until the next Refresh: a sale that opens at midnight does not wait for the database.
func (s *snapshot) slotsFrom(day time.Time) (slots []shop.Slot, ok bool) {
	switch s.firstDay {
	case day.Format(time.DateOnly):
		return s.slots, true
	case day.AddDate(0, 0, -1).Format(time.DateOnly):
		ended := func(slot shop.Slot) bool { return slot.ClosesAt <= shop.MillisOf(day) }
		return slices.DeleteFunc(slices.Clone(s.slots), ended), true
	}
	return nil, false
}

func newSnapshot() snapshot {
	return snapshot{sales: make(map[shop.ID]*shop.Sale), bySlot: make(map[shop.ID][]*shop.Sale)}
}

func (s *snapshot) putSlot(slot shop.ID, sales []*shop.Sale) {
	s.bySlot[slot] = sales
	for _, sale := range sales {
		s.sales[sale.ID] = sale
	}
}

// NewCatalogue returns an empty catalogue. zone determines the shop's days.
func NewCatalogue(
	catalogue CatalogueStore, sales SaleStore, newFilter func(ids []shop.ID) IDFilter, zone *time.Location,
) *Catalogue {
	return &Catalogue{
		catalogue: catalogue, sales: sales, newFilter: newFilter, zone: zone, version: -1, known: newSnapshot(),
	}
}

// Run refreshes the snapshot every catalogueInterval until ctx ends.
func (c *Catalogue) Run(ctx context.Context) error {
	return shop.Repeat(ctx, catalogueInterval, "refresh the catalogue", c.Refresh)
}

// Refresh replaces the filter and the snapshot if the catalogue version or the day has changed.
func (c *Catalogue) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	readStart := time.Now()
	version, err := c.catalogue.Version(ctx)
	if err != nil {
		return fmt.Errorf("read catalogue version: %w", err)
	}
	if c.confirm(version, readStart) {
		return nil
	}
	// The following data are read after the version, so they are at least as new.
	ids, err := c.sales.SaleIDs(ctx)
	if err != nil {
		return fmt.Errorf("read sale ids: %w", err)
	}
	filter := c.newFilter(ids)
	known, err := c.readSnapshot(ctx)
	if err != nil {
		return fmt.Errorf("reread the catalogue: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version, c.versionReadAt, c.filter, c.known = version, readStart, filter, known
	return nil
}

// readSnapshot reads the contents of the snapshot again: the shown days, their slots, and sales that ended less than
// saleRetention ago.
func (c *Catalogue) readSnapshot(ctx context.Context) (snapshot, error) {
	nodeTime := time.Now() // the node's clock is precise enough: missing data are read on demand
	now := shop.MillisOf(nodeTime)
	c.mu.RLock()
	before := c.known
	slots := slices.Collect(maps.Keys(before.bySlot))
	sales := make([]shop.ID, 0, len(before.sales))
	for id, sale := range before.sales {
		if now < sale.ClosesAt.Add(saleRetention) {
			sales = append(sales, id)
		}
	}
	c.mu.RUnlock()

	fresh := newSnapshot()
	if before.firstDay != "" {
		day, err := c.dayOf(nodeTime), error(nil)
		if fresh.slots, err = c.readDays(ctx, day); err != nil {
			return fresh, err
		}
		fresh.firstDay = day.Format(time.DateOnly)
	}
	for _, slot := range fresh.slots {
		if now >= slot.ClosesAt.Add(saleRetention) || !slices.Contains(slots, slot.ID) {
			continue
		}
		rows, err := c.readSlot(ctx, slot.ID)
		if err != nil {
			return fresh, err
		}
		fresh.putSlot(slot.ID, rows)
	}
	sales = slices.DeleteFunc(sales, func(id shop.ID) bool { return fresh.sales[id] != nil })
	rows, err := c.sales.Sales(ctx, sales)
	if err != nil {
		return fresh, fmt.Errorf("%d sales: %w", len(sales), err)
	}
	for _, sale := range shop.Pointers(rows) {
		c.raiseChallenge(sale)
		fresh.sales[sale.ID] = sale
	}
	return fresh, nil
}

// confirm records that the version is unchanged. It returns false if the version or the day has changed.
func (c *Catalogue) confirm(version int64, readStart time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version || c.known.firstDay != "" && c.known.firstDay != c.dayOf(readStart).Format(time.DateOnly) {
		return false
	}
	c.versionReadAt = readStart
	return true
}

// Invalidate makes the next Refresh read everything again, after a change of MinChallenge.
func (c *Catalogue) Invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = -1 // running reads are not cached
}

// raiseChallenge applies the minimum entry check to a sale.
func (c *Catalogue) raiseChallenge(sale *shop.Sale) {
	if c.MinChallenge != nil {
		sale.Challenge = sale.Challenge.AtLeast(c.MinChallenge())
	}
}

// Sale returns a sale by ID. NotFound: no such sale. For IDs that never existed it does not read from the database.
func (c *Catalogue) Sale(ctx context.Context, id shop.ID) (*shop.Sale, error) {
	c.mu.RLock()
	sale, filter, readAt := c.known.sales[id], c.filter, c.versionReadAt
	c.mu.RUnlock()
	if sale != nil {
		return sale, nil
	}
	if filter != nil && !filter(id) && time.Since(readAt) < maxCatalogueAge {
		return nil, shop.ErrNoSale
	}
	return loadOnce(ctx, c, &c.loadingSale, int64(id), func(ctx context.Context, version int64) (*shop.Sale, error) {
		return c.load(ctx, version, id)
	})
}

// VisibleSale is like Sale, but for shoppers. NotFound: the sale is hidden, or the token is bound to another sale
// (shop.BoundTo).
//
// A hidden slot is in no list, and its sales are hidden. Only a guest token that an operator has bound to a hidden sale
// can watch it and buy in it. Its orders cannot be paid. Reports, board totals and the stream of paid orders exclude
// it.
func (c *Catalogue) VisibleSale(ctx context.Context, id shop.ID) (*shop.Sale, error) {
	bound := shop.BoundSale(ctx)
	if bound != 0 && bound != id {
		return nil, shop.ErrNoSale
	}
	sale, err := c.Sale(ctx, id)
	if err == nil && sale.Hidden && bound == 0 {
		return nil, shop.ErrNoSale
	}
	return sale, err
}

// IsHidden reports whether a sale that this node has read is hidden. It never reads from the database.
func (c *Catalogue) IsHidden(id shop.ID) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	sale := c.known.sales[id]
	return sale != nil && sale.Hidden
}

// loadOnce shares one read of the database between concurrent callers. The read has its own time limit and does not end
// with the caller that started it.
func loadOnce[V any](
	ctx context.Context, c *Catalogue, loads *shop.SharedLoad[loadKey, V], id int64,
	load func(ctx context.Context, version int64) (V, error),
) (V, error) {
	version := c.currentVersion()
	return loads.Do(ctx, loadKey{version, id}, func() (V, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return load(ctx, version)
	})
}

func (c *Catalogue) load(ctx context.Context, version int64, id shop.ID) (*shop.Sale, error) {
	sale, err := c.sales.Sale(ctx, id)
	if errors.Is(err, shop.ErrNoRow) {
		return nil, shop.ErrNoSale
	}
	if err != nil {
		return nil, shop.Unavailable("the sale", fmt.Errorf("sale %s: %w", id, err))
	}
	c.raiseChallenge(&sale)
	c.keep(version, func(known *snapshot) { known.sales[id] = &sale })
	return &sale, nil
}

func (c *Catalogue) currentVersion() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version
}

// keep caches read data, unless the catalogue version has changed since the read began.
func (c *Catalogue) keep(version int64, put func(known *snapshot)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return
	}
	if len(c.known.sales) > maxCachedSales {
		clear(c.known.sales)
	}
	put(&c.known)
}

// SalesOfSlot lists the sales of a slot in display order. NotFound: no such slot.
func (c *Catalogue) SalesOfSlot(ctx context.Context, slot shop.ID) ([]*shop.Sale, error) {
	c.mu.RLock()
	sales, ok := c.known.bySlot[slot]
	c.mu.RUnlock()
	if ok {
		return sales, nil
	}
	return loadOnce(ctx, c, &c.loadingSlot, int64(slot), func(
		ctx context.Context, version int64,
	) ([]*shop.Sale, error) {
		return c.loadSlot(ctx, version, slot)
	})
}

func (c *Catalogue) loadSlot(ctx context.Context, version int64, slot shop.ID) ([]*shop.Sale, error) {
	if s, err := c.catalogue.Slot(ctx, slot); errors.Is(err, shop.ErrNoRow) || err == nil && s.Hidden {
		return nil, shop.Fail(shop.NotFound, "no such slot")
	}
	sales, err := c.readSlot(ctx, slot)
	if err != nil {
		return nil, shop.Unavailable("the slot", err)
	}
	c.keep(version, func(known *snapshot) { known.putSlot(slot, sales) })
	return sales, nil
}

func (c *Catalogue) readSlot(ctx context.Context, slot shop.ID) ([]*shop.Sale, error) {
	rows, err := c.sales.SalesOfSlot(ctx, slot)
	if err != nil {
		return nil, fmt.Errorf("sales of slot %s: %w", slot, err)
	}
	sales := shop.Pointers(rows)
	for _, s := range sales {
		c.raiseChallenge(s)
	}
	return sales, nil
}

// Today lists the slots to show to a shopper at the instant now: those of the shop's day, and of the next day if no
// slot of today remains. It returns at most maxSlotsShown slots around the current one.
func (c *Catalogue) Today(ctx context.Context, now shop.Millis) ([]shop.Slot, error) {
	day := c.dayOf(now.Time())
	slots, err := c.slotsFrom(ctx, day)
	if err != nil {
		return nil, err
	}
	tomorrow := shop.MillisOf(day.AddDate(0, 0, 1))
	shown := make([]shop.Slot, 0, len(slots))
	for _, s := range slots {
		slotRemains := len(shown) > 0 && shown[len(shown)-1].ClosesAt > now
		if s.OpensAt >= tomorrow && slotRemains {
			break // today still has a slot
		}
		s.Phase = shop.PhaseAt(now, s.OpensAt, s.ClosesAt)
		shown = append(shown, s)
	}
	return slotsAround(shown, now), nil
}

// SlotsBetween lists the slots that are open within [from, to], with their phases at `from`. The latest `to` is the end
// of the next day. Background jobs use it; Today is a selection for shoppers.
func (c *Catalogue) SlotsBetween(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error) {
	slots, err := c.slotsFrom(ctx, c.dayOf(from.Time()))
	if err != nil {
		return nil, err
	}
	var selected []shop.Slot
	for _, s := range slots {
		if s.OpensAt <= to && s.ClosesAt > from {
			s.Phase = shop.PhaseAt(from, s.OpensAt, s.ClosesAt)
			selected = append(selected, s)
		}
	}
	return selected, nil
}

// slotsAround reduces a long list to maxSlotsShown slots around the current one.
func slotsAround(slots []shop.Slot, now shop.Millis) []shop.Slot {
	if len(slots) <= maxSlotsShown {
		return slots
	}
	current := 0
	for current < len(slots)-1 && slots[current].ClosesAt <= now {
		current++
	}
	first := min(max(0, current-maxPastShown), len(slots)-maxSlotsShown)
	return slots[first : first+maxSlotsShown]
}

// dayOf returns the start of the day of an instant, in the shop's time zone.
func (c *Catalogue) dayOf(at time.Time) time.Time {
	local := at.In(c.zone)
	return time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, c.zone)
}

// slotsFrom returns the slots of the day and the next one.
func (c *Catalogue) slotsFrom(ctx context.Context, day time.Time) ([]shop.Slot, error) {
	c.mu.RLock()
	slots, ok := c.known.slotsFrom(day)
	c.mu.RUnlock()
	if ok {
		return slots, nil
	}
	id := int64(shop.MillisOf(day))
	return loadOnce(ctx, c, &c.loadingSlots, id, func(ctx context.Context, version int64) ([]shop.Slot, error) {
		slots, err := c.readDays(ctx, day)
		if err != nil {
			return nil, shop.Unavailable("the slots", err)
		}
		c.keep(version, func(known *snapshot) { known.slots, known.firstDay = slots, day.Format(time.DateOnly) })
		return slots, nil
	})
}

func (c *Catalogue) readDays(ctx context.Context, day time.Time) ([]shop.Slot, error) {
	slots, err := c.catalogue.Slots(ctx, shop.MillisOf(day), shop.MillisOf(day.AddDate(0, 0, 2)))
	if err != nil {
		return nil, fmt.Errorf("slots of %s: %w", day.Format(time.DateOnly), err)
	}
	return slots, nil
}

// SlotsOfDay lists the slots of one day in the shop's time zone, each with its phase at the instant now.
func (c *Catalogue) SlotsOfDay(ctx context.Context, day time.Time, now shop.Millis) ([]shop.Slot, error) {
	start := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, c.zone)
	slots, err := c.catalogue.Slots(ctx, shop.MillisOf(start), shop.MillisOf(start.AddDate(0, 0, 1)))
	if err != nil {
		return nil, shop.Unavailable("the slots", err)
	}
	for i := range slots {
		slots[i].Phase = shop.PhaseAt(now, slots[i].OpensAt, slots[i].ClosesAt)
	}
	return slots, nil
}

// OpenSales returns the number of open sales that are not paused. It ignores sales that cannot be read now.
func (c *Catalogue) OpenSales(ctx context.Context, now shop.Millis) (n int) {
	slots, err := c.SlotsBetween(ctx, now, now)
	if err != nil {
		return 0
	}
	for _, slot := range slots {
		sales, _ := c.SalesOfSlot(ctx, slot.ID)
		for _, s := range sales {
			if shop.PhaseAt(now, s.OpensAt, s.ClosesAt) == shop.Open && !s.Paused {
				n++
			}
		}
	}
	return n
}

// Age returns the time since the last successful read of the catalogue version; 0 before the first one.
func (c *Catalogue) Age() time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.versionReadAt.IsZero() {
		return 0
	}
	return time.Since(c.versionReadAt)
}

// Zone returns the shop's time zone.
func (c *Catalogue) Zone() *time.Location { return c.zone }
