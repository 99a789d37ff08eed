package demo

import (
	"time"

	"stampede/app/shop"
)

const (
	// RollingSlot is the length of a slot in the rolling schedule.
	RollingSlot = 5 * time.Minute
	// firstSlotShare is the part of its length that the first slot is open: 90 seconds of five minutes.
	firstSlotShare = 0.3
)

// Window has the opening and closing time of a slot.
type Window struct{ Opens, Closes shop.Millis }

// Hours is a daily slot, as times since midnight in the shop's time zone.
type Hours struct{ Opens, Closes time.Duration }

// Rolling plans consecutive slots of the given length, continuing existing ones, until a slot closes at or after
// `until`. Without existing slots, or after a gap, it starts with a slot that has just closed and a shortened slot that
// is open, so that the next slot opens soon: 90 seconds from now if slots last five minutes.
func Rolling(existing []shop.Slot, now, until shop.Millis, length time.Duration) []Window {
	var last shop.Millis
	for _, s := range existing {
		last = max(last, s.ClosesAt)
	}
	var plan []Window
	if last <= now {
		now -= now % 1000
		if closed := now.Add(-length); last <= closed {
			plan = append(plan, Window{closed, now})
		}
		start := max(now, last)
		last = start.Add(time.Duration(firstSlotShare * float64(length)))
		plan = append(plan, Window{start, last})
	}
	for last < until {
		next := last.Add(length)
		plan = append(plan, Window{last, next})
		last = next
	}
	return plan
}

// Daily plans the slots of the given number of days, starting with the day of `from` in the time zone of `from`.
func Daily(from time.Time, days int, hours []Hours) []Window {
	var plan []Window
	for d := range days {
		at := func(sinceMidnight time.Duration) shop.Millis {
			minutes := int(sinceMidnight.Minutes())
			return shop.MillisOf(time.Date(from.Year(), from.Month(), from.Day()+d, 0, minutes, 0, 0, from.Location()))
		}
		for _, h := range hours {
			plan = append(plan, Window{at(h.Opens), at(h.Closes)})
		}
	}
	return plan
}
