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
func (j *ScheduleJob) RunOnce(ctx context.Context) error {
	now := j.Now()
	until := now.Add(slotsAhead * j.Slot)
	existing, err := j.Seeder.Store.Catalogue().Slots(ctx, now.Add(-j.Slot), until.Add(j.Slot))
	if err != nil {
		return fmt.Errorf("read slots: %w", err)
	}
	var plan []Window
	for _, slot := range existing {
		if slot.Sales == 0 && slot.ClosesAt > now { // a crash between slots and sales left it empty
			plan = append(plan, Window{slot.OpensAt, slot.ClosesAt})
		}
	}
	plan = append(plan, Rolling(existing, now, until, j.Slot)...)
	if _, err := j.Seeder.Schedule(ctx, plan); err != nil {
		return fmt.Errorf("extend the schedule: %w", err)
	}
	return nil
}

// Run extends the schedule until ctx ends.
func (j *ScheduleJob) Run(ctx context.Context) error {
	return shop.Repeat(ctx, j.Slot/checksPerSlot, "extend the schedule", j.RunOnce)
}
