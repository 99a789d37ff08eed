package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stampede/app/demo"
)

// maxSlot is the length of a slot without an end: two hours, or until the next slot starts.
const maxSlot = 2 * time.Hour

// SlotTimes lists the slots of a day, comma-separated, in order and without overlap. A slot is a start ("08", "08:30")
// with an optional end ("08:30-10").
type SlotTimes []demo.Hours

// UnmarshalText returns an error that names the slot that is invalid, out of order or overlapping.
func (s *SlotTimes) UnmarshalText(text []byte) error {
	parts := splitList(text)
	if len(parts) == 0 {
		return fmt.Errorf("is empty: want opening times like 08,10,12 or windows like 08:00-10:00")
	}
	slots := make(SlotTimes, len(parts))
	for i, part := range parts {
		slot, err := parseSlot(part)
		if err != nil {
			return err
		}
		slots[i] = slot
	}
	for i := range slots {
		limit := 24 * time.Hour
		if i+1 < len(slots) {
			limit = slots[i+1].Opens
		}
		if slots[i].Closes == 0 {
			slots[i].Closes = min(slots[i].Opens+maxSlot, limit)
		}
		if slots[i].Closes > limit || slots[i].Opens >= slots[i].Closes {
			return fmt.Errorf("has %q: it must open before it closes, and close before the next slot and midnight", parts[i])
		}
	}
	*s = slots
	return nil
}

func parseSlot(part string) (demo.Hours, error) {
	from, to, hasEnd := strings.Cut(part, "-")
	opens, err := parseClock(from)
	if err != nil {
		return demo.Hours{}, err
	}
	slot := demo.Hours{Opens: opens}
	if hasEnd {
		if slot.Closes, err = parseClock(to); err != nil {
			return demo.Hours{}, err
		}
		if slot.Closes == 0 {
			slot.Closes = 24 * time.Hour // "22-00" ends at midnight
		}
	}
	return slot, nil
}

// clockForm matches "8", "08", "08:30" and "24".
var clockForm = regexp.MustCompile(`^(\d{1,2})(?::(\d{1,2})?)?$`)

func parseClock(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if parts := clockForm.FindStringSubmatch(s); parts != nil {
		hour, _ := strconv.Atoi(parts[1]) // digits
		minute, _ := strconv.Atoi("0" + parts[2])
		if hour < 24 && minute < 60 || hour == 24 && minute == 0 {
			return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute, nil
		}
	}
	return 0, fmt.Errorf("has the time %q: want hours and minutes like 08 or 08:30", s)
}

func (s SlotTimes) String() string {
	parts := make([]string, len(s))
	for i, slot := range s {
		parts[i] = clockText(slot.Opens) + "-" + clockText(slot.Closes)
	}
	return strings.Join(parts, ",")
}

func clockText(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
}
