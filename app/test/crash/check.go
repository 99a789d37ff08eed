package crash

import (
	"fmt"

	"stampede/app/shop"
)

// Violation is a broken promise (P1–P8) or invariant (I1–I11).
type Violation struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// String returns one line of the report.
func (v Violation) String() string { return v.Rule + ": " + v.Text }

// Check compares the history of the clients with the final state of the stores and returns all violations. The final
// state must be at rest: all nodes run, and no order waits.
func Check(h History, f Final) []Violation {
	c := newCheck(h, f)
	c.buys()
	c.cancels()
	c.rows()
	c.tickets()
	c.sales()
	c.groups()
	c.events()
	return c.found
}

// attempt identifies one buy attempt: all buys with this key of a user in a sale.
type attempt struct {
	sale, user shop.ID
	key        string
}

// check is the state of one comparison.
type check struct {
	history      History
	final        Final
	byID         map[shop.ID]*Row
	attempts     map[attempt][]Op
	attemptOrder []attempt // keys of attempts in the order of their first op, so that reports are deterministic
	byKey        map[attempt][]*Row
	paid         map[shop.ID]bool
	found        []Violation
}

func newCheck(h History, f Final) *check {
	c := &check{
		history: h, final: f, byID: make(map[shop.ID]*Row, len(f.Rows)), attempts: make(map[attempt][]Op),
		byKey: make(map[attempt][]*Row, len(f.Rows)), paid: make(map[shop.ID]bool),
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		if c.byID[r.ID] != nil {
			c.fail("I1", "order %s has two rows", r.ID)
		}
		c.byID[r.ID] = r
		p := attempt{r.Sale, r.User, r.Key}
		c.byKey[p] = append(c.byKey[p], r)
	}
	for _, op := range h.Ops {
		if op.Kind == Pay {
			c.paid[op.Order] = true
		}
		if op.Kind != Buy {
			continue
		}
		p := attempt{op.Sale, op.User, op.Key}
		if c.attempts[p] == nil {
			c.attemptOrder = append(c.attemptOrder, p)
		}
		c.attempts[p] = append(c.attempts[p], op)
	}
	return c
}

func (c *check) fail(rule, format string, args ...any) {
	c.found = append(c.found, Violation{rule, fmt.Sprintf(format, args...)})
}
