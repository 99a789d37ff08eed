package backoffice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// maxCalendar limits the period of the calendar that one call reads or fills.
	maxCalendar = 92 * 24 * time.Hour
	maxTemplate = 1000 // slots
	maxTimes    = 48   // slots per day
	maxSlot     = 24 * time.Hour
)

// SlotDraft is an operator's input for a new slot.
type SlotDraft struct {
	OpensAt  shop.Millis `json:"opens_at"`
	ClosesAt shop.Millis `json:"closes_at"`
	Hidden   bool        `json:"hidden,omitempty"` // it may overlap slots that begin at another instant
}

// SlotTemplate describes the slots of each day in a period, in local time of the shop.
type SlotTemplate struct {
	From  Day        `json:"from"`
	To    Day        `json:"to"` // inclusive
	Times []SlotTime `json:"times"`
}

// SlotTime is a daily slot, like "10:00" to "12:00"; the latest end is "24:00".
type SlotTime struct {
	Opens  string `json:"opens"`
	Closes string `json:"closes"`
}

// PlanState is the result for a planned slot.
type PlanState string

// The states of a planned slot. A plan with overlapping or impossible slots creates nothing.
const (
	PlanNew        PlanState = "new"
	PlanExists     PlanState = "there" // this slot exists
	PlanOverlaps   PlanState = "overlaps"
	PlanImpossible PlanState = "impossible" // the local clock skips or repeats that time
)

// PlannedSlot is one line of a plan.
type PlannedSlot struct {
	Day      Day         `json:"day"`
	Opens    string      `json:"opens"`
	Closes   string      `json:"closes"`
	OpensAt  shop.Millis `json:"opens_at,omitempty"`
	ClosesAt shop.Millis `json:"closes_at,omitempty"`
	State    PlanState   `json:"state"`
	Message  string      `json:"message,omitempty"` // the error
}

// SlotPlan is the result of a template.
type SlotPlan struct {
	Slots  []PlannedSlot `json:"slots"`
	New    int           `json:"new"`   // created, or to be created
	Wrong  int           `json:"wrong"` // overlapping or impossible
	DryRun bool          `json:"dry_run"`
}

// SlotCalendar returns the slots that overlap [from, to).
func (sc Schedule) SlotCalendar(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error) {
	if from >= to || to.Sub(from) > maxCalendar {
		return nil, shop.Fail(shop.BadRequest, "to must be after from, by at most 92 days")
	}
	slots, err := sc.Store.Catalogue().AllSlots(ctx, from, to)
	now := sc.Now()
	for i := range slots {
		slots[i].Phase = shop.PhaseAt(now, slots[i].OpensAt, slots[i].ClosesAt)
	}
	return slots, shop.Unavailable("slots", err)
}

// Days returns the beginning of the first day and the end of the last day in the zone of the shop.
func (sc Schedule) Days(from, to Day) (shop.Millis, shop.Millis, error) {
	first, err := from.parse()
	if err != nil {
		return 0, 0, err
	}
	last, err := to.parse()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, sc.Zone)
	end := time.Date(last.Year(), last.Month(), last.Day()+1, 0, 0, 0, 0, sc.Zone)
	return shop.MillisOf(begin), shop.MillisOf(end), nil
}

// TimeZone returns the name of the shop's time zone.
func (sc Schedule) TimeZone() string { return sc.Zone.String() }

// CreateSlot creates one slot. Conflict: it overlaps another one.
func (sc Schedule) CreateSlot(
	ctx context.Context, actor journal.Actor, draft SlotDraft,
) (shop.Slot, error) {
	if err := sc.checkSlot(draft); err != nil {
		return shop.Slot{}, err
	}
	id, err := sc.Mint()
	if err != nil {
		return shop.Slot{}, shop.Unavailable("the catalogue", err)
	}
	slot := shop.Slot{ID: id, OpensAt: draft.OpensAt, ClosesAt: draft.ClosesAt, Hidden: draft.Hidden}
	slot.Phase = shop.PhaseAt(sc.Now(), slot.OpensAt, slot.ClosesAt)
	return store.RunOperationFor[shop.Slot](ctx, sc.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		existing, err := tx.Catalogue().LockSlots(ctx, slot.OpensAt, slot.ClosesAt)
		if draft.Hidden && err == nil {
			existing, err = tx.Catalogue().AllSlots(ctx, slot.OpensAt, slot.ClosesAt)
			existing = slices.DeleteFunc(existing,
				func(s shop.Slot) bool { return !s.Hidden || s.OpensAt != slot.OpensAt })
		}
		if err == nil && len(existing) > 0 {
			err = shop.Fail(shop.Conflict, "the slot overlaps "+sc.describe(existing[0]))
		}
		if err == nil {
			err = tx.Catalogue().AddSlots(ctx, []shop.Slot{slot})
		}
		return journal.Operation{Kind: "slot.create", Object: object("slot", id), After: slot, Result: slot}, err
	})
}

func (sc Schedule) checkSlot(s SlotDraft) error {
	switch {
	case s.OpensAt >= s.ClosesAt:
		return shop.Fail(shop.BadRequest, "closes_at must come after opens_at")
	case s.ClosesAt.Sub(s.OpensAt) > maxSlot:
		return shop.Fail(shop.BadRequest, "a slot must last at most one day")
	case s.OpensAt%1000 != 0 || s.ClosesAt%1000 != 0:
		return shop.Fail(shop.BadRequest, "opens_at and closes_at must be whole seconds")
	case s.ClosesAt <= sc.Now():
		return shop.Fail(shop.BadRequest, "closes_at is in the past")
	case s.OpensAt > sc.Now().Add(maxAhead):
		return shop.Fail(shop.BadRequest, "opens_at must be within the next two years")
	}
	return nil
}

// maxAhead rejects times in another unit (seconds, microseconds) and mistyped years.
const maxAhead = 2 * 366 * 24 * time.Hour

// describe formats a slot in local time of the shop.
func (sc Schedule) describe(s shop.Slot) string {
	from, to := s.OpensAt.Time().In(sc.Zone), s.ClosesAt.Time().In(sc.Zone)
	return fmt.Sprintf("slot %s, %s–%s", s.ID, from.Format("2006-01-02 15:04"), to.Format("15:04"))
}

// RemoveSlot removes a slot without sales. A slot that has only archived sales is archived: it is no longer visible,
// and another slot can use its time. WrongState: it has other sales.
func (sc Schedule) RemoveSlot(ctx context.Context, actor journal.Actor, id shop.ID) (shop.Slot, error) {
	return store.RunOperationFor[shop.Slot](ctx, sc.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		slot, err := tx.Catalogue().LockSlot(ctx, id)
		if err != nil {
			return journal.Operation{}, notFound("slot", id, err)
		}
		slot.Phase = shop.PhaseAt(sc.Now(), slot.OpensAt, slot.ClosesAt)
		if slot.Sales > 0 {
			return journal.Operation{}, shop.Failf(shop.WrongState, "the slot has %d sales: only an empty slot can be removed", slot.Sales)
		}
		kind := "slot.remove"
		archived, err := tx.Catalogue().RemoveSlot(ctx, id)
		if archived {
			kind = "slot.archive"
		}
		return journal.Operation{Kind: kind, Object: object("slot", id), Before: slot, Result: slot}, err
	})
}

// ApplyTemplate creates the missing slots of a template: all of them or none. A dry run returns the state of each slot.
func (sc Schedule) ApplyTemplate(
	ctx context.Context, actor journal.Actor, t SlotTemplate,
) (SlotPlan, error) {
	lines, err := t.planSlots(sc.Zone)
	if err != nil {
		return SlotPlan{}, err
	}
	create := func(tx *store.Store) (journal.Operation, error) {
		plan := SlotPlan{Slots: slices.Clone(lines)}
		slots, err := sc.planTemplate(ctx, tx, &plan)
		if err == nil && plan.Wrong > 0 && !actor.DryRun {
			err = shop.Fail(shop.Conflict, plan.problemText())
		}
		if err == nil && plan.Wrong == 0 && len(slots) > 0 {
			err = tx.Catalogue().AddSlots(ctx, slots)
		}
		return journal.Operation{
			Kind: "slot.template", Object: "slots:" + string(t.From) + "/" + string(t.To), After: t, Result: plan,
		}, err
	}
	plan, err := store.RunOperationFor[SlotPlan](ctx, sc.Store, actor, create)
	plan.DryRun = actor.DryRun
	return plan, err
}

// planSlots returns the planned slots in order; slots with impossible local times are marked.
func (t SlotTemplate) planSlots(zone *time.Location) ([]PlannedSlot, error) {
	first, err := t.From.parse()
	if err != nil {
		return nil, err
	}
	last, err := t.To.parse()
	if err != nil {
		return nil, err
	}
	days := int(last.Sub(first).Hours()/24) + 1
	switch {
	case days < 1 || last.Sub(first) > maxCalendar:
		return nil, shop.Fail(shop.BadRequest, "to must not be before from, and must be at most 92 days after it")
	case len(t.Times) < 1 || len(t.Times) > maxTimes:
		return nil, shop.Failf(shop.BadRequest, "times must have 1 to %d slots", maxTimes)
	case days*len(t.Times) > maxTemplate:
		return nil, shop.Failf(shop.BadRequest, "the template has %d slots: the limit is %d", days*len(t.Times), maxTemplate)
	}
	var lines []PlannedSlot
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		for _, slot := range t.Times {
			line, err := slot.plan(day, zone)
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// plan returns the slot of a day.
func (t SlotTime) plan(day time.Time, zone *time.Location) (PlannedSlot, error) {
	line := PlannedSlot{Day: Day(day.Format(time.DateOnly)), Opens: t.Opens, Closes: t.Closes, State: PlanNew}
	opens, err := parseTimeOfDay(t.Opens)
	if err != nil {
		return line, err
	}
	closes, err := parseTimeOfDay(t.Closes)
	if err != nil {
		return line, err
	}
	if opens >= closes {
		return line, shop.Failf(shop.BadRequest, "the slot %s–%s must close after it opens, and at 24:00 at the latest", t.Opens, t.Closes)
	}
	var errs [2]error
	line.OpensAt, errs[0] = instantOf(day, opens, zone)
	line.ClosesAt, errs[1] = instantOf(day, closes, zone)
	if err := errors.Join(errs[:]...); err != nil {
		line.State, line.Message, line.OpensAt, line.ClosesAt = PlanImpossible, shop.AsError(err).Message, 0, 0
	}
	return line, nil
}

// planTemplate compares a plan with the existing slots and with itself, and returns the slots to create.
func (sc Schedule) planTemplate(ctx context.Context, tx *store.Store, plan *SlotPlan) ([]shop.Slot, error) {
	var from, to shop.Millis
	for _, line := range plan.Slots {
		if line.State == PlanNew && (from == 0 || line.OpensAt < from) {
			from = line.OpensAt
		}
		to = max(to, line.ClosesAt)
	}
	existing, err := tx.Catalogue().LockSlots(ctx, from, to)
	if err != nil {
		return nil, err
	}
	now := sc.Now()
	var created []shop.Slot
	for i := range plan.Slots {
		line := &plan.Slots[i]
		if line.State == PlanNew {
			line.State, line.Message = sc.planLine(line, existing, created, now)
		}
		if line.State != PlanNew {
			if line.State != PlanExists {
				plan.Wrong++
			}
			continue
		}
		id, err := sc.Mint()
		if err != nil {
			return nil, shop.Unavailable("the catalogue", err)
		}
		created = append(created, shop.Slot{ID: id, OpensAt: line.OpensAt, ClosesAt: line.ClosesAt})
	}
	plan.New = len(created)
	return created, nil
}

// planLine returns the state of one planned slot and its error text.
func (sc Schedule) planLine(
	line *PlannedSlot, existing, created []shop.Slot, now shop.Millis,
) (PlanState, string) {
	for _, s := range existing {
		if s.OpensAt == line.OpensAt && s.ClosesAt == line.ClosesAt {
			return PlanExists, ""
		}
		if s.OpensAt < line.ClosesAt && line.OpensAt < s.ClosesAt {
			return PlanOverlaps, "overlaps " + sc.describe(s)
		}
	}
	for _, s := range created {
		if s.OpensAt < line.ClosesAt && line.OpensAt < s.ClosesAt {
			return PlanOverlaps, "overlaps another slot of the template"
		}
	}
	switch {
	case line.ClosesAt <= now:
		return PlanImpossible, "is in the past"
	case line.OpensAt > now.Add(maxAhead):
		return PlanImpossible, "is more than two years in the future"
	}
	return PlanNew, ""
}

// problemText describes the first slots that prevent a plan.
func (p *SlotPlan) problemText() string {
	const listed = 3
	var lines []string
	for _, s := range p.Slots {
		if s.State != PlanNew && s.State != PlanExists && len(lines) < listed {
			lines = append(lines, fmt.Sprintf("%s %s–%s: %s", s.Day, s.Opens, s.Closes, s.Message))
		}
	}
	text := "no slot was created. " + strings.Join(lines, "; ")
	if more := p.Wrong - len(lines); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
