package demo

import (
	"time"

	"stampede/app/shop"
)

const (
	// RollingSlot is how long a slot of the rolling schedule lasts.
	RollingSlot = 5 * time.Minute
	// firstCut is how long the first one is open, of its length: 90 seconds of five minutes.
	firstCut = 0.3
)

// Window is when a slot opens and closes.
type Window struct{ Opens, Closes shop.Millis }

// Hours is a slot of every day, as times since the day's midnight in the shop's zone.
type Hours struct{ Opens, Closes time.Duration }

// Rolling plans back-to-back slots of the length given from what exists until there is a slot that closes at or after
// until. From nothing, or after a gap, it begins with one that has just closed and one that is open and cut, so that
// the next opens soon: with slots of five minutes, 90 seconds from now.
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
		last = start.Add(time.Duration(firstCut * float64(length)))
		plan = append(plan, Window{start, last})
	}
	for last < until {
		next := last.Add(length)
		plan = append(plan, Window{last, next})
		last = next
	}
	return plan
}

// Daily plans the slots of days whole days, beginning with the day in which from lies in its own time zone.
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
