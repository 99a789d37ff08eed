package realtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"stampede/app/catalog"
	"stampede/app/shop"
)

// subject is a watched slot with all its sales, or a single watched sale.
type subject struct {
	id   shop.ID
	slot bool
}

// recordClosingTimesLocked records the closing times of watched subjects from a snapshot. It records 0 for a subject
// that is not in the snapshot.
func (ws *watchSets) recordClosingTimesLocked(view *catalog.WatchView, singles []shop.ID) {
	if slot := (subject{view.Slot, true}); slot.id != 0 {
		ws.closingTimes[slot] = closesAt(view, slot)
	}
	for _, id := range singles {
		ws.closingTimes[subject{id, false}] = closesAt(view, subject{id, false})
	}
}

// closesAt returns the closing time of the subject. A slot that is not in view.Slots closes with its last sale.
func closesAt(view *catalog.WatchView, s subject) (closes shop.Millis) {
	if s.slot {
		for i := range view.Slots {
			if view.Slots[i].ID == s.id {
				return view.Slots[i].ClosesAt
			}
		}
	}
	for i := range view.Sales {
		if sale := &view.Sales[i]; s.slot && sale.Slot == s.id || !s.slot && sale.ID == s.id {
			closes = max(closes, sale.ClosesAt)
		}
	}
	return closes
}

// stillWatched returns w without retired subjects. Above a limit, it also removes closed subjects, in the order of
// their closing times. A client that follows the current slot therefore never reaches a limit.
func (ws *watchSets) stillWatched(w watching) watching {
	now := ws.options.Shop.Now()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	retain := func(ids []shop.ID, slot bool, limit int) []shop.ID {
		closes := func(id shop.ID) shop.Millis { return ws.closingTimes[subject{id, slot}] }
		ids = slices.DeleteFunc(slices.Clone(ids), func(id shop.ID) bool {
			_, known := ws.closingTimes[subject{id, slot}]
			return !known
		})
		for len(ids) > limit {
			oldest := slices.MinFunc(ids, func(a, b shop.ID) int {
				return cmp.Compare(zeroLast(closes(a)), zeroLast(closes(b)))
			})
			if at := closes(oldest); at == 0 || at > now {
				break // not closed
			}
			ids = slices.DeleteFunc(ids, func(id shop.ID) bool { return id == oldest })
		}
		return ids
	}
	return watching{slots: retain(w.slots, true, maxWatchedSlots), sales: retain(w.sales, false, maxWatchedSales)}
}

// zeroLast sorts an unknown instant (0) after all others.
func zeroLast(at shop.Millis) uint64 { return uint64(at) - 1 }

// retireOnce drops subjects that closed more than RetireAfter ago. It reads the closing time again before it drops a
// subject, because an operator may have moved its closing time.
func (ws *watchSets) retireOnce(ctx context.Context) error {
	var failed error
	latest := ws.options.Shop.Now().Add(-ws.options.RetireAfter)
	var retired []subject
	for _, s := range ws.closedBy(latest) {
		closes, err := ws.readClosingTime(ctx, s)
		if err != nil {
			failed = fmt.Errorf("read the closing time of %s: %w", s.id, err)
			break // the next run reads the remaining ones
		}
		if closes <= latest {
			retired = append(retired, s)
			continue
		}
		ws.mu.Lock()
		ws.closingTimes[s] = closes
		ws.mu.Unlock()
	}
	if len(retired) > 0 {
		ws.removeRetired(retired)
	}
	return failed
}

// closedBy returns the subjects whose recorded closing time is at or before latest.
func (ws *watchSets) closedBy(latest shop.Millis) (closed []subject) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for s, at := range ws.closingTimes {
		if at != 0 && at <= latest {
			closed = append(closed, s)
		}
	}
	return closed
}

// readClosingTime reads the closing time of the subject; 0: it no longer exists.
func (ws *watchSets) readClosingTime(ctx context.Context, s subject) (shop.Millis, error) {
	ctx, cancel := context.WithTimeout(ctx, ws.options.OpWithin)
	defer cancel()
	slot, sales := s.id, []shop.ID(nil)
	if !s.slot {
		slot, sales = 0, []shop.ID{s.id}
	}
	view, err := ws.options.Shop.Watch(ctx, slot, sales)
	var known *shop.Error
	if errors.As(err, &known) && known.Code == shop.NotFound {
		return 0, nil
	}
	return closesAt(&view, s), err
}

// removeRetired removes retired subjects from all watch sets, so ticks no longer contain them. The client's own list
// changes with its next watch or unwatch (stillWatched).
func (ws *watchSets) removeRetired(retired []subject) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, s := range retired {
		delete(ws.closingTimes, s)
		if s.slot {
			delete(ws.salesBySlot, s.id)
		}
	}
	isRetired := func(slot bool) func(id shop.ID) bool {
		return func(id shop.ID) bool { return slices.Contains(retired, subject{id, slot}) }
	}
	for _, set := range ws.sets {
		if slices.ContainsFunc(set.slots, isRetired(true)) || slices.ContainsFunc(set.singles, isRetired(false)) {
			slots := slices.DeleteFunc(slices.Clone(set.slots), isRetired(true))
			singles := slices.DeleteFunc(slices.Clone(set.singles), isRetired(false))
			set.narrow(slots, singles, ws.salesLocked(slots, singles))
		}
	}
}
