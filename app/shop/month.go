package shop

import (
	"fmt"
	"time"
)

// Month is a UTC month as a number such as 202611.
type Month int

// MonthOf returns the month of an instant.
func MonthOf(at Millis) Month {
	t := at.Time().UTC()
	return Month(t.Year()*100 + int(t.Month()))
}

// ParseMonth reads a month such as 2026-11.
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil {
		return 0, Failf(BadRequest, "invalid month %q: want a month such as 2026-11", text)
	}
	return MonthOf(MillisOf(t)), nil
}

// Start returns the first instant of the month.
func (m Month) Start() Millis {
	return MillisOf(time.Date(int(m)/100, time.Month(m%100), 1, 0, 0, 0, 0, time.UTC))
}

// Next returns the following month.
func (m Month) Next() Month { return MonthOf(MillisOf(m.Start().Time().UTC().AddDate(0, 1, 0))) }

func (m Month) String() string { return fmt.Sprintf("%04d-%02d", int(m)/100, int(m)%100) }

// MarshalText writes the month in the form 2026-11.
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the month in the form 2026-11.
func (m *Month) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMonth(string(text))
	return err
}
