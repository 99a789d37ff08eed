package shop

import (
	"testing"
)

// Months use the form 2026-12, and December is followed by January of the next year.
func TestMonthsAreParsedAndOrdered(t *testing.T) {
	t.Parallel()
	m, err := ParseMonth("2026-12")
	if err != nil || m != 202612 || m.String() != "2026-12" || m.Next() != 202701 {
		t.Errorf("got month %v, next %v (%v); want 2026-12 and 2027-01", m, m.Next(), err)
	}
	for at, want := range map[Millis]Month{
		m.Start(): m, m.Start() - 1: 202611, m.Next().Start() - 1: m, m.Next().Start(): 202701,
	} {
		if got := MonthOf(at); got != want {
			t.Errorf("MonthOf(%d) = %v, want %v", at, got, want)
		}
	}
	for _, text := range []string{"", "2026", "2026-13", "202612", "2026-1", "2026-12-01", "-001-01", "2026-12\n"} {
		if m, err := ParseMonth(text); err == nil {
			t.Errorf("ParseMonth(%q) = %v, want an error", text, m)
		}
	}
}
