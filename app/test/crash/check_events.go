package crash

import (
	"stampede/app/shop"
)

// step is a state that an order has reached.
type step struct {
	order shop.ID
	rev   int
}

// device is one phone of a user.
type device struct {
	user   shop.ID
	number int
}

// events checks that each device received the last state of every order of its user, also after missed events. No
// device may receive a reset, because each user has at most a hundred orders and the database has one history. No
// device may receive a state that the database does not have.
func (c *check) events() {
	for _, r := range c.history.Resets {
		if !c.history.Replaced {
			c.fail("P6", "device %d of user %s received a reset", r.Device, r.User)
		}
	}
	received := make(map[device]map[step]bool)
	devices := make(map[shop.ID][]device)
	for _, e := range c.history.Received {
		d := device{e.User, e.Device}
		if received[d] == nil {
			received[d] = make(map[step]bool)
			devices[e.User] = append(devices[e.User], d)
		}
		c.requireCommitted(e)
		received[d][step{e.Order, e.Rev}] = true
	}
	for i := range c.final.Rows {
		r := &c.final.Rows[i]
		if len(devices[r.User]) == 0 {
			c.fail("P6", "user %s received no event, and has order %s", r.User, r.ID)
		}
		for _, d := range devices[r.User] {
			if !received[d][step{r.ID, r.Rev}] {
				c.fail("P6", "device %d of user %s did not receive that order %s is %s (rev %d)", d.number, r.User, r.ID,
					r.State, r.Rev)
			}
		}
	}
}

// requireCommitted checks that a received state is committed (P3). The row may have a later state.
func (c *check) requireCommitted(e Received) {
	row := c.byID[e.Order]
	switch {
	case row == nil || row.Rev < e.Rev:
		c.fail("P3", "user %s received that order %s is %s (rev %d); its row is %s", e.User, e.Order, e.State, e.Rev,
			stateOf(row))
	case row.User != e.User:
		c.fail("P3", "user %s received order %s of user %s", e.User, e.Order, row.User)
	case row.Rev == e.Rev && row.State != e.State:
		c.fail("P3", "user %s received that order %s is %s at rev %d; its row is %s", e.User, e.Order, e.State, e.Rev,
			row.State)
	}
}
