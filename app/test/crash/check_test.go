package crash

import (
	"slices"
	"strings"
	"testing"

	"stampede/app/shop"
)

// validRun returns a small run without violations. User 1 bought twice under one key, the first time without a reply,
// and cancelled. User 2 bought two units, which expired. User 3 found the sale sold out. User 4 has an order.
func validRun() (History, Final) {
	const sale = shop.ID(900)
	buy := func(user shop.ID, qty int, outcome Outcome, order shop.ID, ticket int64) Op {
		return Op{
			Kind: Buy, User: user, Sale: sale, Key: "key-of-" + user.String(), Qty: qty, Outcome: outcome, Order: order,
			Ticket: ticket,
		}
	}
	soldOut := buy(3, 1, Refused, 0, 0)
	soldOut.Code = shop.SoldOut
	h := History{
		Ops: []Op{
			buy(1, 1, Unknown, 0, 0), buy(1, 1, OK, 11, 1), buy(2, 2, OK, 12, 2), soldOut, buy(4, 1, OK, 14, 3),
			{Kind: Cancel, User: 1, Sale: sale, Order: 11, Outcome: OK, State: shop.Cancelled},
		},
		Received: []Received{
			{User: 1, Order: 11, State: shop.Pending, Rev: 1, Via: ByEvent, Cursor: "5.a"},
			{User: 1, Order: 11, State: shop.Cancelled, Rev: 2, Via: ByMissed, Cursor: "6.a"},
			{User: 2, Order: 12, State: shop.Expired, Rev: 2, Via: ByOrders},
			{User: 4, Order: 14, State: shop.Pending, Rev: 1, Via: ByEvent, Cursor: "6.a"},
		},
	}
	row := func(id, user shop.ID, qty, ticket int64, state shop.OrderState, rev int) Row {
		return Row{
			ID: id, Sale: sale, User: user, Key: "key-of-" + user.String(), Qty: qty, State: state, Ticket: ticket,
			Rev: rev,
		}
	}
	side := Side{Initial: 4, Stock: 3, Held: 1}
	f := Final{
		Rows: []Row{
			row(11, 1, 1, 1, shop.Cancelled, 2), row(12, 2, 2, 2, shop.Expired, 2), row(14, 4, 1, 3, shop.Pending, 1),
		},
		Sales: []Sale{{
			ID: sale, Limit: 2, Database: side, Redis: side, Tickets: 3, Done: 3,
			Holds: []Hold{{Order: 14, Qty: 1}},
			Units: []Units{{User: 1}, {User: 2}, {User: 4, Qty: 1}},
		}},
		Groups: []Group{{Partition: 0}},
	}
	return h, f
}

// Each entry breaks one fact of the valid run, and the rule for that fact reports a violation. The valid run has no
// violation.
func TestEveryRuleReportsItsViolation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		corrupt func(h *History, f *Final)
		want    string // prefix of a violation; "": no violation
	}{
		"valid run":                     {func(*History, *Final) {}, ""},
		"a confirmed order is lost":     {func(_ *History, f *Final) { f.Rows = f.Rows[:2] }, "P2: order 14 of user 4 was confirmed"},
		"an order has another quantity": {func(_ *History, f *Final) { f.Rows[2].Qty = 2 }, "P2: order 14 differs from its reply"},
		"an order has another user":     {func(_ *History, f *Final) { f.Rows[2].User = 5 }, "P2: order 14 differs from its reply"},
		"a buy with a lost reply has a ticket and no order": {
			func(_ *History, f *Final) { f.Sales[0].Tickets, f.Sales[0].Done = 4, 4 }, "P2: ticket 4",
		},
		"two rows with one id":       {func(_ *History, f *Final) { f.Rows = append(f.Rows, f.Rows[2]) }, "I1: order 14 has two rows"},
		"two orders with one key":    {func(_ *History, f *Final) { f.Rows[2].ID = 15; f.Rows = append(f.Rows, f.Rows[2]) }, "P4: key key-of-4"},
		"two orders with one ticket": {func(_ *History, f *Final) { f.Rows[2].Ticket = 2 }, "I1: orders 12 and 14"},
		"a different reply later":    {func(h *History, _ *Final) { h.Ops[0].Outcome, h.Ops[0].Order = OK, 10 }, "P4: key key-of-1"},
		"a buyer with an order is refused": {
			func(h *History, _ *Final) { h.Ops = append(h.Ops, h.Ops[4]); h.Ops[6].Outcome = Refused },
			"I9: key key-of-4",
		},
		"a refused buyer has an order": {func(_ *History, f *Final) { f.Rows[2].User, f.Rows[2].Key = 3, "key-of-3" }, "I9: key key-of-3"},
		"an order without a buy":       {func(h *History, _ *Final) { h.Ops = slices.Delete(h.Ops, 4, 5) }, "I1: order 14 of user 4: no buy"},
		"a cancellation is undone":     {func(_ *History, f *Final) { f.Rows[0].State = shop.Expired }, "I1: order 11 was confirmed as cancelled"},
		"an expiry is undone": {
			func(h *History, _ *Final) { h.Ops[5].Outcome, h.Ops[5].Code = Refused, shop.OrderExpired },
			"I1: order 11 was reported as expired",
		},
		"a buyer's order is not found": {
			func(h *History, _ *Final) { h.Ops[5].Outcome, h.Ops[5].Code = Refused, shop.NotFound },
			"P2: order 11 of user 1 was not found",
		},
		"an order is refused without a reason": {func(_ *History, f *Final) { f.Rows[2].State = shop.Refused }, "P2: order 14 is refused without"},
		"an order is refused by the guard": {
			func(_ *History, f *Final) { f.Rows[2].State, f.Rows[2].Reason = shop.Refused, shop.ReasonGuard },
			"I2: order 14",
		},
		"a dead letter":           {func(_ *History, f *Final) { f.DeadLetters = 1 }, "P2: 1 dead letters"},
		"a state without a cause": {func(_ *History, f *Final) { f.Rows[2].State = shop.Paid }, "I1: order 14 is paid"},
		"a payment is refunded": {func(h *History, f *Final) {
			h.Ops = append(h.Ops, Op{Kind: Pay, Order: 14})
			h.Received[3].State, f.Rows[2].State, f.Sales[0].Holds = shop.Refunded, shop.Refunded, nil
			f.Sales[0].Database = Side{Initial: 4, Stock: 3, Withdrawn: 1}
			f.Sales[0].Redis = f.Sales[0].Database
		}, ""},
		"a promoted database has lost a refund": {func(_ *History, f *Final) { loseRefund(f) }, ""},
		"a refund is lost": {
			func(_ *History, f *Final) { loseRefund(f); f.Rows[0].Reason = "" }, "I3: Redis counts 1 units for user 1",
		},
		"a lost refund counts twice": {
			func(_ *History, f *Final) { loseRefund(f); f.Sales[0].Units[0].Qty = 2 },
			"I3: Redis counts 2 units for user 1",
		},
		"units of a lost refund are for sale": {
			func(_ *History, f *Final) { loseRefund(f); f.Sales[0].Database.Withdrawn = 0 },
			"I3: Redis counts 1 units for user 1",
		},
		"stock returned twice":                {func(_ *History, f *Final) { f.Sales[0].Redis.Stock++ }, "P1: sale 900, redis"},
		"stock never returned":                {func(_ *History, f *Final) { f.Sales[0].Redis.Stock-- }, "P1: sale 900, redis"},
		"the guard is off":                    {func(_ *History, f *Final) { f.Sales[0].Database.Stock-- }, "P1: sale 900, database"},
		"more free units in Redis":            {func(_ *History, f *Final) { f.Sales[0].Redis.Stock, f.Sales[0].Redis.Held = 4, 0 }, "I2: sale 900"},
		"fewer free units in Redis":           {func(_ *History, f *Final) { f.Sales[0].Redis.Stock, f.Sales[0].Redis.Held = 2, 2 }, "P1: sale 900: 2 units free"},
		"a ticket is not done":                {func(_ *History, f *Final) { f.Sales[0].Done = 2 }, "I4: sale 900"},
		"a buyer over the limit":              {func(_ *History, f *Final) { f.Sales[0].Limit = 0 }, "P4: user 4 holds"},
		"units of an ended order still count": {func(_ *History, f *Final) { f.Sales[0].Units[0].Qty = 1 }, "I3: Redis counts 1 units for user 1"},
		"a buyer's units are missing":         {func(_ *History, f *Final) { f.Sales[0].Units = f.Sales[0].Units[:2] }, "I3: Redis has no units for user 4"},
		"a hold of an ended order":            {func(_ *History, f *Final) { f.Sales[0].Holds[0].Order = 11 }, "I3: Redis holds 1 units for order 11"},
		"an order without a hold":             {func(_ *History, f *Final) { f.Sales[0].Holds = nil }, "I3: order 14 is pending"},
		"lag is unknown":                      {func(_ *History, f *Final) { f.Groups[0].Lag = -1 }, "P7: partition 0"},
		"pending entries at rest":             {func(_ *History, f *Final) { f.Groups[0].Pending = 1 }, "P7: partition 0"},
		"a state was not received":            {func(h *History, _ *Final) { h.Received = slices.Delete(h.Received, 1, 2) }, "P6: device 0 of user 1 did not receive"},
		"an unnecessary reset":                {func(h *History, _ *Final) { h.Resets = []Reset{{User: 2}} }, "P6: device 0 of user 2 received a reset"},
		"a user received no event":            {func(h *History, _ *Final) { h.Received = h.Received[:3] }, "P6: user 4 received no event"},
		"published before the commit":         {func(h *History, _ *Final) { h.Received[3].Rev = 2 }, "P3: user 4 received that order 14"},
		"published another state":             {func(h *History, _ *Final) { h.Received[3].State = shop.Expired }, "P3: user 4 received that order 14"},
		"published to another user":           {func(h *History, _ *Final) { h.Received[3].User = 5 }, "P3: user 5 received order 14"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, f := validRun()
			c.corrupt(&h, &f)
			found := Check(h, f)
			matches := func(v Violation) bool { return strings.HasPrefix(v.String(), c.want) }
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, matches) {
				t.Errorf("want prefix %q, got violations %v", c.want, found)
			}
		})
	}
}

// loseRefund makes order 11 paid and refunded, and only Redis still has the refund.
func loseRefund(f *Final) {
	f.Rows[0].Reason = shop.ReasonRecovered
	f.Sales[0].Units[0].Qty = 1
	f.Sales[0].Database = Side{Initial: 4, Stock: 2, Held: 1, Withdrawn: 1}
	f.Sales[0].Redis = f.Sales[0].Database
}
