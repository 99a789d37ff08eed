package shop

import (
	"cmp"
	"slices"
)

// Step is a state of an order and the instant at which it began.
type Step struct {
	State OrderState `json:"state"`
	At    Millis     `json:"at,omitempty"` // 0: unknown; the order is older than the column, or a recovery wrote its row
}

// Steps that are no states of the order: it stays paid or shipped.
const (
	RefundAsked    OrderState = "refund_asked"    // requested by the buyer
	RefundDeclined OrderState = "refund_declined" // by an operator
)

// Trail has the data about the past of an order that its row does not have.
type Trail struct {
	Carrier string // of its parcel; empty: no parcel
	Steps   []Step // in no order; of repeated steps each
}

// Timeline returns the states of an order in the order of their beginnings. Two instants may be in the wrong order,
// because they are from different clocks: `paid` has the clock of the gateway, in whole seconds. After a late payment
// `paid` has the time of the revival, by the clock of Redis.
func Timeline(o *Order, trail Trail) []Step {
	all := []Step{{Reserved, o.CreatedAt}}
	add := func(state OrderState, at Millis) { all = append(all, Step{state, at}) }
	stored := func(states ...OrderState) []Step { return stepsOf(trail.Steps, states...) }

	replayed := stored(Pending)
	switch {
	case o.State == Reserved:
		return all
	case o.State == Refused:
		add(Refused, o.InsertedAt)
		return all
	case o.State == Cancelled && o.Rev == FirstRev: // cancelled before it had a row
	case len(replayed) > 0:
		add(Refused, o.InsertedAt)
		all = append(all, replayed...)
	default:
		add(Pending, o.InsertedAt)
	}

	ended := stored(Cancelled, Expired)
	if o.State == Cancelled || o.State == Expired {
		ended = []Step{{o.State, o.CancelledAt}}
	}
	all = append(all, ended...)
	if o.PaidAt > 0 && o.HoldsUnits() {
		if revived := stored(Paid); len(revived) > 0 {
			all = append(all, revived...)
		} else {
			add(Paid, o.PaidAt)
		}
	}

	shipped := stored(Shipped)
	delivery := append(stored(RefundAsked, RefundDeclined), shipped[:min(1, len(shipped))]...)
	all = append(all, sorted(delivery)...)
	finished := stored(Finished)
	if o.State == Finished && len(finished) == 0 {
		add(Finished, 0)
	}
	all = append(all, finished...)
	return append(all, append(stored(Refunding), stored(Refunded)...)...)
}

// stepsOf returns the steps with the states, the earliest first.
func stepsOf(steps []Step, states ...OrderState) []Step {
	other := func(s Step) bool { return !slices.Contains(states, s.State) }
	return sorted(slices.DeleteFunc(slices.Clone(steps), other))
}

func sorted(steps []Step) []Step {
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return steps
}
