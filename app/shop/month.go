package shop

import (
	"fmt"
	"time"
)

// Month is a month of UTC by its number, like 202611.
type Month int

// MonthOf is the month of an instant.
func MonthOf(at Millis) Month {
	t := at.Time().UTC()
	return Month(t.Year()*100 + int(t.Month()))
}

// ParseMonth reads a month like 2026-11.
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil {
		return 0, Failf(BadRequest, "%q is no month: want one like 2026-11", text)
	}
	return MonthOf(MillisOf(t)), nil
}

// Start is its first instant.
func (m Month) Start() Millis {
	return MillisOf(time.Date(int(m)/100, time.Month(m%100), 1, 0, 0, 0, 0, time.UTC))
}

// Next is the month after it.
func (m Month) Next() Month { return MonthOf(MillisOf(m.Start().Time().UTC().AddDate(0, 1, 0))) }

func (m Month) String() string { return fmt.Sprintf("%04d-%02d", int(m)/100, int(m)%100) }

// MarshalText writes it like 2026-11.
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads it.
func (m *Month) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMonth(string(text))
	return err
}
