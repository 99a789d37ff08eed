package backoffice

import (
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	fakes.Must(t, err)
	return zone
}

// A local time is converted to its instant. A time that the zone skips or repeats is an error, never moved.
func TestSkippedAndRepeatedLocalTimesAreErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, day, time string
		want            string // in UTC, or a part of the error
	}{
		{"Asia/Shanghai", "2026-11-21", "10:00", "2026-11-21T02:00:00Z"},
		{"Asia/Shanghai", "2026-11-21", "00:00", "2026-11-20T16:00:00Z"},
		{"Asia/Shanghai", "2026-11-21", "24:00", "2026-11-21T16:00:00Z"},
		{"UTC", "2024-02-29", "24:00", "2024-03-01T00:00:00Z"},
		// Clocks change from 02:00 to 03:00, and from 03:00 back to 02:00.
		{"Europe/Berlin", "2026-03-29", "01:59", "2026-03-29T00:59:00Z"},
		{"Europe/Berlin", "2026-03-29", "02:00", "02:00 does not exist in Europe/Berlin"},
		{"Europe/Berlin", "2026-03-29", "02:59", "does not exist"},
		{"Europe/Berlin", "2026-03-29", "03:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25", "01:59", "2026-10-24T23:59:00Z"},
		{"Europe/Berlin", "2026-10-25", "02:00", "02:00 occurs twice in Europe/Berlin"},
		{"Europe/Berlin", "2026-10-25", "02:59", "occurs twice"},
		{"Europe/Berlin", "2026-10-25", "03:00", "2026-10-25T02:00:00Z"},
		{"America/New_York", "2026-03-08", "02:30", "does not exist"},
		{"America/New_York", "2026-11-01", "01:30", "occurs twice"},
		// A change of half an hour, one at night, and a skipped midnight.
		{"Australia/Lord_Howe", "2026-10-04", "02:15", "does not exist"},
		{"Australia/Lord_Howe", "2026-04-05", "01:45", "occurs twice"},
		{"America/Havana", "2026-03-08", "00:30", "does not exist"},
		{"America/Havana", "2026-03-07", "24:00", "2026-03-08 00:00 does not exist"},
		// A skipped day.
		{"Pacific/Apia", "2011-12-30", "12:00", "does not exist"},
		{"Pacific/Apia", "2011-12-31", "12:00", "2011-12-30T22:00:00Z"},
	} {
		day, err := Day(c.day).parse()
		fakes.Must(t, err)
		minutes, err := parseTimeOfDay(c.time)
		fakes.Must(t, err)
		at, err := instantOf(day, minutes, zoneOf(t, c.zone))
		got := at.Time().Format(time.RFC3339)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s in %s: got %s, want %s", c.day, c.time, c.zone, got, c.want)
		}
	}
	for _, invalid := range []string{
		"", "8:00", "08.00", "24:01", "25:00", "08:60", "-1:00", "08:00:00", "noon",
		"٠٨:٠٠",
	} {
		if _, err := parseTimeOfDay(invalid); err == nil {
			t.Errorf("the invalid time %q was accepted", invalid)
		}
	}
	for _, invalid := range []Day{"", "2026-02-30", "2026-1-1", "1999-12-31", "2201-01-01", "21.11.2026", "today"} {
		if _, err := invalid.parse(); err == nil {
			t.Errorf("the invalid day %q was accepted", invalid)
		}
	}
}

// Every quarter of an hour of 2026 converts to local time and back, or is reported as repeated.
func TestLocalTimesConvertToInstantsAndBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/St_Johns", "Asia/Shanghai", "Australia/Lord_Howe"} {
		zone := zoneOf(t, name)
		twice := 0
		for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2027; at = at.Add(15 * time.Minute) {
			local := at.In(zone)
			day, err := Day(local.Format(time.DateOnly)).parse()
			fakes.Must(t, err)
			found, err := instantOf(day, local.Hour()*60+local.Minute(), zone)
			switch {
			case err != nil && strings.Contains(err.Error(), "occurs twice"):
				twice++
			case err != nil || found != shop.MillisOf(at):
				t.Fatalf("%s, %s: got %s, %v; want %s", name, local, found.Time(), err, at)
			}
		}
		if twice > 8 {
			t.Errorf("%s: got %d repeated times, want at most 8", name, twice)
		}
	}
}
