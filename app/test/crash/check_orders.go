package crash

import (
	"stampede/app/shop"
)

// buys checks that an accepted buy has exactly one order, a buy with an unknown outcome at most one, and a refused buy
// no order.
func (c *check) buys() {
	for _, p := range c.attemptOrder {
		if n := len(c.byKey[p]); n > 1 {
			c.fail("P4", "key %s of user %s has %d orders, want 1", p.key, p.user, n)
		}
		c.attempt(p, c.attempts[p])
	}
}

// attempt checks all buys under one key, in the order of their replies.
func (c *check) attempt(p attempt, ops []Op) {
	var first *Op
	for i := range ops {
		op := &ops[i]
		switch {
		case op.Outcome == OK && first == nil:
			first = op
			c.requireRow(op)
		case op.Outcome == OK && (op.Order != first.Order || op.Ticket != first.Ticket):
			c.fail("P4", "key %s of user %s: order %s ticket %d, then order %s ticket %d",
				p.key, p.user, first.Order, first.Ticket, op.Order, op.Ticket)
		case op.Outcome == Refused && first != nil:
			c.fail("I9", "key %s of user %s: order %s, then refused with %s", p.key, p.user, first.Order, op.Code)
		}
	}
	last := ops[len(ops)-1]
	if first == nil && last.Outcome == Refused && len(c.byKey[p]) > 0 {
		c.fail("I9", "key %s of user %s was refused with %s and has order %s", p.key, p.user, last.Code,
			c.byKey[p][0].ID)
	}
}

// requireRow requires that an accepted reservation has a row with the requested values.
func (c *check) requireRow(op *Op) {
	row := c.byID[op.Order]
	if row == nil {
		c.fail("P2", "order %s of user %s was confirmed and has no row", op.Order, op.User)
		return
	}
	if row.User != op.User || row.Sale != op.Sale || row.Qty != int64(op.Qty) || row.Ticket != op.Ticket ||
		row.Key != op.Key {
		c.fail("P2", "order %s differs from its reply: got %+v, want user %s sale %s qty %d ticket %d key %s",
			op.Order, *row, op.User, op.Sale, op.Qty, op.Ticket, op.Key)
	}
}

// cancels checks that a confirmed cancellation is final.
func (c *check) cancels() {
	for _, op := range c.history.Ops {
		if op.Kind != Cancel {
			continue
		}
		row := c.byID[op.Order]
		switch {
		case op.Outcome == OK && (row == nil || row.State != shop.Cancelled):
			c.fail("I1", "order %s was confirmed as cancelled and is %s", op.Order, stateOf(row))
		case op.Outcome == Refused && op.Code == shop.OrderExpired && (row == nil || row.State != shop.Expired):
			c.fail("I1", "order %s was reported as expired and is %s", op.Order, stateOf(row))
		case op.Outcome == Refused && op.Code == shop.NotFound:
			c.fail("P2", "order %s of user %s was not found when its buyer cancelled it", op.Order, op.User)
		}
	}
}

func stateOf(row *Row) shop.OrderState {
	if row == nil {
		return "without a row"
	}
	return row.State
}

// rows checks that each order belongs to a buy, and that no order was refused without a reason or because of a fault.
func (c *check) rows() {
	for i := range c.final.Rows {
		r := &c.final.Rows[i]
		if len(c.attempts[attempt{r.Sale, r.User, r.Key}]) == 0 {
			c.fail("I1", "order %s of user %s: no buy with key %q requested it", r.ID, r.User, r.Key)
		}
		switch {
		case r.State == shop.Pending, r.State == shop.Expired, r.State == shop.Cancelled:
		case r.State == shop.Refused:
			c.checkRefusal(r)
		case c.paid[r.ID] && (r.State == shop.Paid || r.State == shop.Refunded):
		default:
			c.fail("I1", "order %s is %s, a state that this run does not produce", r.ID, r.State)
		}
	}
	if n := c.final.DeadLetters; n > 0 {
		c.fail("P2", "%d dead letters, want 0: a transient fault was treated as invalid data", n)
	}
}

func (c *check) checkRefusal(r *Row) {
	switch r.Reason {
	case "":
		c.fail("P2", "order %s is refused without a reason", r.ID)
	case shop.ReasonGuard, shop.ReasonNoSale:
		c.fail("I2", "order %s is refused (%s): Redis sold units that the database did not have", r.ID, r.Reason)
	}
}

// tickets checks that every issued ticket has exactly one row, even if its buyer never received a reply.
func (c *check) tickets() {
	for _, s := range c.final.Sales {
		owner := make(map[int64]shop.ID)
		for i := range c.final.Rows {
			r := &c.final.Rows[i]
			if r.Sale != s.ID {
				continue
			}
			if other, taken := owner[r.Ticket]; taken {
				c.fail("I1", "orders %s and %s of sale %s both have ticket %d", other, r.ID, s.ID, r.Ticket)
			}
			owner[r.Ticket] = r.ID
		}
		for t := int64(1); t <= s.Tickets; t++ {
			if owner[t] == 0 {
				c.fail("P2", "ticket %d of sale %s was issued and has no row", t, s.ID)
			}
		}
	}
}
