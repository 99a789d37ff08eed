package crash

import (
	"stampede/app/shop"
)

// sales checks that the stock equation and the limits hold in each store, and that both stores agree.
func (c *check) sales() {
	for i := range c.final.Sales {
		s := &c.final.Sales[i]
		c.balance(s, "database", s.Database)
		c.balance(s, "redis", s.Redis)
		c.agreement(s)
		c.buyers(s)
		c.holds(s)
	}
}

func (c *check) balance(s *Sale, side string, n Side) {
	if n.Initial+n.Added != n.Stock+n.Held+n.Sold+n.Withdrawn || n.Stock < 0 || n.Held < 0 {
		c.fail("P1", "sale %s, %s: initial %d + added %d ≠ stock %d + held %d + sold %d + withdrawn %d",
			s.ID, side, n.Initial, n.Added, n.Stock, n.Held, n.Sold, n.Withdrawn)
	}
}

// agreement checks that at rest both stores have the same free and held units, and that all tickets are settled.
func (c *check) agreement(s *Sale) {
	if s.Done != s.Tickets {
		c.fail("I4", "sale %s: %d tickets, %d done at rest, want the same", s.ID, s.Tickets, s.Done)
	}
	if s.Redis.Stock > s.Database.Stock {
		c.fail("I2", "sale %s: %d units free in Redis, more than the %d in the database", s.ID, s.Redis.Stock, s.Database.Stock)
	}
	if s.Redis.Stock+s.Burnt != s.Database.Stock {
		c.fail("P1", "sale %s: %d units free and %d burnt in Redis, %d free in the database",
			s.ID, s.Redis.Stock, s.Burnt, s.Database.Stock)
	}
	var units int64
	for i := range c.final.Rows {
		if r := &c.final.Rows[i]; r.Sale == s.ID && r.hasHold() {
			units += r.Qty
		}
	}
	if units != s.Database.Held+s.Database.Sold || units != s.Redis.Held+s.Redis.Sold {
		c.fail("P1", "sale %s: the rows hold %d units, the database counts %d, Redis %d",
			s.ID, units, s.Database.Held+s.Database.Sold, s.Redis.Held+s.Redis.Sold)
	}
}

// buyers checks that no buyer exceeds the limit, and that Redis and the rows count the same units. One exception: an
// order was paid and refunded, and a promoted database has lost the payment and the refund. The order is then
// cancelled, its units are written off, and Redis continues to count them for the buyer, as after any refund.
func (c *check) buyers(s *Sale) {
	units, recovered := make(map[shop.ID]int64), make(map[shop.ID]int64)
	writtenOff := s.Database.Withdrawn
	for i := range c.final.Rows {
		r := &c.final.Rows[i]
		if r.Sale != s.ID {
			continue
		}
		if !r.keepsUnits() {
			if r.Reason == shop.ReasonRecovered {
				recovered[r.User] += r.Qty
			}
			continue
		}
		if r.State == shop.Refunded {
			writtenOff -= r.Qty
		}
		if units[r.User] += r.Qty; units[r.User] > s.Limit {
			c.fail("P4", "user %s holds %d units of sale %s, the limit is %d", r.User, units[r.User], s.ID, s.Limit)
		}
	}
	for _, u := range s.Units {
		excess := u.Qty - units[u.User]
		if excess < 0 || excess > max(0, min(recovered[u.User], writtenOff)) {
			c.fail("I3", "Redis counts %d units for user %s in sale %s, the rows count %d", u.Qty, u.User, s.ID,
				units[u.User])
		}
		writtenOff -= excess
		delete(units, u.User)
	}
	for user, n := range units {
		c.fail("I3", "Redis has no units for user %s in sale %s, the rows hold %d units", user, s.ID, n)
	}
}

// holds checks that every hold belongs to an order that needs one, and that every such order has a hold.
func (c *check) holds(s *Sale) {
	held := make(map[shop.ID]bool, len(s.Holds))
	for _, h := range s.Holds {
		held[h.Order] = true
		row := c.byID[h.Order]
		if row == nil || !row.hasHold() || row.Qty != h.Qty {
			c.fail("I3", "Redis holds %d units for order %s, which is %s", h.Qty, h.Order, stateOf(row))
		}
	}
	for i := range c.final.Rows {
		if r := &c.final.Rows[i]; r.Sale == s.ID && r.hasHold() && !held[r.ID] {
			c.fail("I3", "order %s is %s and has no hold in Redis", r.ID, r.State)
		}
	}
}

// groups checks that at rest XINFO reports no lag and no pending entries.
func (c *check) groups() {
	for _, g := range c.final.Groups {
		if g.Lag != 0 || g.Pending != 0 {
			c.fail("P7", "partition %d: lag %d, pending %d at rest, want 0 and 0", g.Partition, g.Lag, g.Pending)
		}
	}
}
