package demo

import (
	"context"
	"fmt"
	"time"

	"stampede/app/shop"
)

const (
	// slotsAhead is how many slots of the schedule are created in advance.
	slotsAhead = 9
	// checksPerSlot is how often per slot the ScheduleJob checks the schedule.
	checksPerSlot = 15
)

// ScheduleJob extends a rolling schedule: a background job of the demo.
type ScheduleJob struct {
	Seeder *Seeder
	Now    func() shop.Millis
	Slot   time.Duration // length of a slot; the schedule has slotsAhead future slots
}

// RunOnce adds the missing slots.
func (k *ScheduleJob) RunOnce(ctx context.Context) error {
	now := k.Now()
	until := now.Add(slotsAhead * k.Slot)
	existing, err := k.Seeder.Store.Slots(ctx, now.Add(-k.Slot), until.Add(k.Slot))
	if err != nil {
		return fmt.Errorf("read slots: %w", err)
	}
	var plan []Window
	for _, slot := range existing {
		if slot.Sales == 0 && slot.ClosesAt > now { // a crash between slots and sales left it empty
			plan = append(plan, Window{slot.OpensAt, slot.ClosesAt})
		}
	}
	plan = append(plan, Rolling(existing, now, until, k.Slot)...)
	if _, err := k.Seeder.Schedule(ctx, plan); err != nil {
		return fmt.Errorf("extend the schedule: %w", err)
	}
	return nil
}

// Run extends the schedule until ctx ends.
func (k *ScheduleJob) Run(ctx context.Context) error {
	return shop.Repeat(ctx, k.Slot/checksPerSlot, "keep the schedule rolling", k.RunOnce)
}
