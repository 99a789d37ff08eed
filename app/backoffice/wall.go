package backoffice

import (
	"regexp"
	"strconv"
	"time"

	"stampede/app/shop"
)

// Day is a day of the shop's calendar: 2026-11-21.
type Day string

// parse is the day's midnight in UTC, for counting days; clocks of the shop are asked by instant.
func (d Day) parse() (time.Time, error) {
	day, err := time.Parse(time.DateOnly, string(d))
	if err != nil || day.Year() < 2000 || day.Year() > 2200 {
		return time.Time{}, shop.Failf(shop.BadRequest, "the day %q cannot be read: want one like 2026-11-21", shop.Clip(string(d), 24))
	}
	return day, nil
}

var wallForm = regexp.MustCompile(`^([0-9]{2}):([0-9]{2})$`)

// parseWall reads a time of day, up to 24:00, as minutes since midnight by the clock on the wall.
func parseWall(text string) (int, error) {
	if parts := wallForm.FindStringSubmatch(text); parts != nil {
		hour, _ := strconv.Atoi(parts[1]) // digits
		minute, _ := strconv.Atoi(parts[2])
		if hour < 24 && minute < 60 || hour == 24 && minute == 0 {
			return hour*60 + minute, nil
		}
	}
	return 0, shop.Failf(shop.BadRequest, "the time %q cannot be read: want one from 00:00 to 24:00", shop.Clip(text, 24))
}

// instantOf is when the clocks of the zone show so many minutes of the day. A time that they skip or show twice is an
// error: a guess would open a sale at an unexpected instant.
func instantOf(day time.Time, minutes int, zone *time.Location) (shop.Millis, error) {
	wall := time.Date(day.Year(), day.Month(), day.Day(), 0, minutes, 0, 0, time.UTC)
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	var found []time.Time
	for _, offset := range offsetsAround(guess) {
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if showsAs(at) == showsAs(wall) && (len(found) == 0 || !found[0].Equal(at)) {
			found = append(found, at)
		}
	}
	text := wall.Format("2006-01-02 15:04")
	switch len(found) {
	case 0:
		return 0, shop.Failf(shop.BadRequest, "%s does not exist in %s: clocks are set forward over it", text, zone)
	case 1:
		return shop.MillisOf(found[0]), nil
	}
	return 0, shop.Failf(shop.BadRequest, "%s comes twice in %s: clocks are set back over it", text, zone)
}

// showsAs is what clocks and calendars show.
func showsAs(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

// offsetsAround are the offsets from UTC, in seconds, that the zone has at that time, before it and after it.
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
