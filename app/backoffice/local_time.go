package backoffice

import (
	"regexp"
	"strconv"
	"time"

	"stampede/app/shop"
)

// Day is a calendar day in the zone of the shop, like 2026-11-21.
type Day string

// parse returns midnight UTC of the day, for counting days. instantOf converts local times.
func (d Day) parse() (time.Time, error) {
	day, err := time.Parse(time.DateOnly, string(d))
	if err != nil || day.Year() < 2000 || day.Year() > 2200 {
		return time.Time{}, shop.Failf(shop.BadRequest, "the day %q is invalid: use a date like 2026-11-21", shop.Clip(string(d), 24))
	}
	return day, nil
}

var timeOfDay = regexp.MustCompile(`^([0-9]{2}):([0-9]{2})$`)

// parseTimeOfDay parses a local time of day, up to 24:00, and returns minutes since midnight.
func parseTimeOfDay(text string) (int, error) {
	if parts := timeOfDay.FindStringSubmatch(text); parts != nil {
		hour, _ := strconv.Atoi(parts[1]) // the pattern allows only digits
		minute, _ := strconv.Atoi(parts[2])
		if hour < 24 && minute < 60 || hour == 24 && minute == 0 {
			return hour*60 + minute, nil
		}
	}
	return 0, shop.Failf(shop.BadRequest, "the time %q is invalid: use a time from 00:00 to 24:00", shop.Clip(text, 24))
}

// instantOf returns the instant at which local clocks show the given minutes of the day. A time that the zone skips or
// repeats is an error, because a guess would open a sale at an unexpected time.
func instantOf(day time.Time, minutes int, zone *time.Location) (shop.Millis, error) {
	wall := time.Date(day.Year(), day.Month(), day.Day(), 0, minutes, 0, 0, time.UTC)
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	var found []time.Time
	for _, offset := range offsetsAround(guess) {
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if localText(at) == localText(wall) && (len(found) == 0 || !found[0].Equal(at)) {
			found = append(found, at)
		}
	}
	text := wall.Format("2006-01-02 15:04")
	switch len(found) {
	case 0:
		return 0, shop.Failf(shop.BadRequest, "%s does not exist in %s: the clocks are set forward at that time", text, zone)
	case 1:
		return shop.MillisOf(found[0]), nil
	}
	return 0, shop.Failf(shop.BadRequest, "%s occurs twice in %s: the clocks are set back at that time", text, zone)
}

// localText formats the local date and time.
func localText(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

// offsetsAround returns the offsets from UTC of the zone at t, before the previous change and after the next one, in
// seconds.
func offsetsAround(t time.Time) []int {
	_, now := t.Zone()
	offsets := []int{now}
	begins, ends := t.ZoneBounds()
	if !begins.IsZero() {
		_, before := begins.Add(-time.Second).Zone()
		offsets = append(offsets, before)
	}
	if !ends.IsZero() {
		_, after := ends.Zone()
		offsets = append(offsets, after)
	}
	return offsets
}
