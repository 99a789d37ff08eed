package shop

// Phase is the phase of a slot or sale: its window compared to Redis time. A sale can be paused in any phase.
type Phase string

const (
	Upcoming Phase = "upcoming"
	Open     Phase = "open"
	Ended    Phase = "closed"
)

// PhaseAt returns the phase of the window [opens, closes) at the instant now.
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

// Slot (场次) is a time window in which its sales are open. Slots do not overlap.
type Slot struct {
	ID       ID     `json:"id"`
	Phase    Phase  `json:"phase"`
	OpensAt  Millis `json:"opens_at"`
	ClosesAt Millis `json:"closes_at"`
	Sales    int    `json:"sales"` // number of sales in the slot
	Hidden   bool   `json:"hidden,omitempty"`
}

// CurrentSlot returns the open slot, else the next one, else the last one. The slots must be in the order of their
// windows. It returns nil if there are no slots.
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
