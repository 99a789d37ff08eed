package shop

// Phase of a slot or sale, decided by Redis time against its window. A sale can be paused as well.
type Phase string

// Phases in their order.
const (
	Upcoming Phase = "upcoming"
	Open     Phase = "open"
	Ended    Phase = "closed"
)

// PhaseAt is the phase of the window [opens, closes) at the instant now.
func PhaseAt(now, opens, closes Millis) Phase {
	switch {
	case now < opens:
		return Upcoming
	case now < closes:
		return Open
	default:
		return Ended
	}
}

// Slot (场次) is a window of the day in which sales are open. Slots do not overlap.
type Slot struct {
	ID       ID     `json:"id"`
	Phase    Phase  `json:"phase"`
	OpensAt  Millis `json:"opens_at"`
	ClosesAt Millis `json:"closes_at"`
	Sales    int    `json:"sales"` // how many sales it offers
	Hidden   bool   `json:"hidden,omitempty"`
}

// CurrentSlot picks the slot that people mean by "now": the open one, else the next, else the last.
// The slots must be in the order of their windows; nil when there are none.
func CurrentSlot(slots []Slot, now Millis) *Slot {
	for i := range slots {
		if now < slots[i].ClosesAt {
			return &slots[i]
		}
	}
	if len(slots) == 0 {
		return nil
	}
	return &slots[len(slots)-1]
}
