package store_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// stampCase calls a method that returns orders. It states whether the call gives the order a new state.
type stampCase struct {
	method, name string
	prepare      func(h *testShop) shop.Order
	do           func(h *testShop, o shop.Order) ([]shop.Order, error)
	stamps       bool
}

func one(o shop.Order, err error) ([]shop.Order, error) { return []shop.Order{o}, err }

func inserted(h *testShop, rows ...shop.Order) ([]shop.Order, error) {
	return ordersOf(h.Insert(h.ctx, h.epoch, rows))
}

func ordersOf(got []shop.Inserted, err error) ([]shop.Order, error) {
	out := make([]shop.Order, len(got))
	for i := range got {
		out[i] = got[i].Order
	}
	return out, err
}

// Initial states of the calls.
func isNew(h *testShop) shop.Order { return h.order(h.sales[0], 1) }

func isPending(h *testShop) shop.Order {
	o := isNew(h)
	h.insert(o)
	return h.read(o.ID)
}

func isOpened(h *testShop) shop.Order { return h.opened(h.sales[0], 1) }

func isExpired(h *testShop) shop.Order {
	o := isPending(h)
	h.must(errOf(h.Expire(h.ctx, []shop.ID{o.ID}, payBy)))
	return h.read(o.ID)
}

func isClaimed(h *testShop) shop.Order {
	o := isNew(h)
	o.State, o.Reason, o.PayBy = shop.Refused, shop.ReasonDead, 0
	h.insert(o)
	claimed := val(h.ClaimHold(h.ctx, o.ID, shop.Refused))(h.t)
	return claimed
}

func isLate(h *testShop) shop.Order {
	o := isExpired(h)
	h.wantReceived(tradeOf(o), payment.OutcomeLate, shop.Expired)
	claimed := val(h.ClaimHold(h.ctx, o.ID, shop.Expired))(h.t)
	return claimed
}

func isPaid(h *testShop) shop.Order {
	o := isOpened(h)
	return h.wantReceived(tradeOf(o), payment.OutcomeTaken, shop.Paid)
}

func isAsked(h *testShop) shop.Order {
	o := isPaid(h)
	h.must(errOf(h.AskRefund(h.ctx, payment.RefundAsk{Order: o.ID, User: o.User, At: opens})))
	return h.read(o.ID)
}

func isDeclined(h *testShop) shop.Order {
	o := isAsked(h)
	h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, At: opens})))
	return h.read(o.ID)
}

func isRefunding(h *testShop) shop.Order {
	o := isPaid(h)
	h.must(errOf(begin(h, o)))
	return h.read(o.ID)
}

func isRefunded(h *testShop) shop.Order {
	o := isRefunding(h)
	h.must(errOf(h.FinishRefund(h.ctx, o.ID, opens)))
	return h.read(o.ID)
}

// Calls that several cases share.
func expire(h *testShop, o shop.Order) ([]shop.Order, error) {
	return h.Expire(h.ctx, []shop.ID{o.ID}, payBy)
}

func cancel(h *testShop, o shop.Order) ([]shop.Order, error) {
	return one(h.Cancel(h.ctx, o.ID, o.User, payBy))
}

func openTrade(h *testShop, o shop.Order) ([]shop.Order, error) {
	return one(h.OpenTrade(h.ctx, o.ID, o.User, opens+3, margin))
}

func endTraded(h *testShop, o shop.Order) ([]shop.Order, error) {
	return h.EndTraded(h.ctx, []shop.ID{o.ID}, shop.Expired, payBy)
}

func receive(h *testShop, o shop.Order) ([]shop.Order, error) {
	got, _, err := h.Receive(h.ctx, tradeOf(o), opens+10)
	return one(got, err)
}

func begin(h *testShop, o shop.Order) ([]shop.Order, error) {
	from := []shop.OrderState{shop.Paid}
	return one(h.BeginRefund(h.ctx, o.ID, from, payment.ReasonRefundShop, opens+20))
}

func ask(h *testShop, o shop.Order) ([]shop.Order, error) {
	return one(h.AskRefund(h.ctx, payment.RefundAsk{Order: o.ID, User: o.User, Text: "too large", At: opens + 30}))
}

func decide(yes bool) func(h *testShop, o shop.Order) ([]shop.Order, error) {
	return func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return one(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, Yes: yes, At: opens + 40}))
	}
}

func finish(h *testShop, o shop.Order) ([]shop.Order, error) {
	return one(h.FinishRefund(h.ctx, o.ID, opens+50))
}

func insert(h *testShop, o shop.Order) ([]shop.Order, error) { return inserted(h, o) }

var stampCases = []stampCase{
	{"InsertLost", "a new row", isNew, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return ordersOf(h.InsertLost(h.ctx, h.epoch, []shop.Order{o}, nil))
	}, true},
	{"EndLost", "a pending order", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.EndLost(h.ctx, []shop.ID{o.ID}, o.CreatedAt)
	}, true},
	{"Insert", "a new row", isNew, insert, true},
	{"Insert", "the same one twice in a call", isNew, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return inserted(h, o, o)
	}, true},
	{"Insert", "one that the guard refuses", isNew, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		o.Qty = 1_000_000
		return inserted(h, o)
	}, true},
	{"Insert", "one of an unknown sale", isNew, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		o.Sale = 999
		return inserted(h, o)
	}, true},
	{"Insert", "one whose key is used", isNew, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		first := isNew(h)
		first.User, first.Key = o.User, o.Key
		h.insert(first)
		return inserted(h, o)
	}, true},
	{"Insert", "a new row among others that exist", isNew, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := inserted(h, isPending(h), o)
		return got[1:], err
	}, true},
	{"Insert", "a row that exists", isPending, insert, false},
	{"Insert", "a row that exists, among new ones", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := inserted(h, isNew(h), o)
		return got[1:], err
	}, false},
	{"Insert", "a row that has ended", isExpired, insert, false},

	{"Expire", "a due order", isPending, expire, true},
	{"Expire", "an expired order", isExpired, expire, false},
	{"Expire", "an order with a trade", isOpened, expire, false},
	{"Expire", "an order that is not due", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.Expire(h.ctx, []shop.ID{o.ID}, payBy-1)
	}, false},
	{"Cancel", "a pending one", isPending, cancel, true},
	{"Cancel", "one that has ended", isExpired, cancel, false},
	{"Cancel", "one that has a trade", isOpened, cancel, false},
	{"ClaimHold", "a pending one", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return one(h.ClaimHold(h.ctx, o.ID, shop.Pending))
	}, false},
	{"Revive", "a refused one", isClaimed, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return one(h.Revive(h.ctx, o, h.epoch, payBy))
	}, true},
	{"Touch", "a pending one", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.Touch(h.ctx, []shop.ID{o.ID})
	}, true},

	{"OpenTrade", "of a pending one", isPending, openTrade, false},
	{"OpenTrade", "again", isOpened, openTrade, false},
	{"EndTraded", "a pending one", isOpened, endTraded, true},
	{"EndTraded", "a paid one", isPaid, endTraded, false},
	{"Receive", "for a pending one", isOpened, receive, true},
	{"Receive", "again", isPaid, receive, false},
	{"Receive", "late", isExpired, receive, false},
	{"Receive", "a wrong amount", isOpened, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		o.AmountFen++
		return receive(h, o)
	}, false},
	{"ReviveLate", "one that had ended", isLate, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return one(h.ReviveLate(h.ctx, o, h.epoch, payBy+9))
	}, true},

	{"BeginRefund", "of a paid one", isPaid, begin, true},
	{"BeginRefund", "again", isRefunding, begin, false},
	{"AskRefund", "of a paid one", isPaid, ask, true},
	{"AskRefund", "again", isAsked, ask, false},
	{"AskRefund", "after a no", isDeclined, ask, true},
	{"AskRefund", "when it is under way", isRefunding, ask, false},
	{"DecideRefund", "yes", isAsked, decide(true), true},
	{"DecideRefund", "no", isAsked, decide(false), true},
	{"DecideRefund", "no again", isDeclined, decide(false), false},
	{"FinishRefund", "of a refunding one", isRefunding, finish, true},
	{"FinishRefund", "again", isRefunded, finish, false},

	{"ConfirmReceipt", "of a shipped one", isShipped, confirm, true},
	{"ConfirmReceipt", "again", isReceived, confirm, false},
	{"FinishShipped", "a due order", isShipped, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.FinishShipped(h.ctx, finishAt, finishAt+1, 1000)
		return only(o, got), err
	}, true},

	{"Order", "marked as published", isExpired, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		h.must(h.MarkPublished(h.ctx, []*shop.Order{&o}))
		return one(h.Order(h.ctx, o.ID))
	}, false},
	{"Order", "read", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return one(h.Order(h.ctx, o.ID))
	}, false},
	{"OrdersByID", "read", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.OrdersByID(h.ctx, []shop.ID{o.ID})
	}, false},
	{"OrdersOf", "read", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.OrdersOf(h.ctx, shop.OrdersQuery{User: o.User, Limit: 1})
		return got, err
	}, false},
	{"FindOrders", "read", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.FindOrders(h.ctx, store.OrderSearch{ID: o.ID, State: shop.Pending, Limit: 1})
		return got, err
	}, false},
	{"OrdersOfSale", "read", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.OrdersOfSale(h.ctx, o.Sale, o.ID-1, 1)
	}, false},
	{"Unpublished", "read", isExpired, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := h.Unpublished(h.ctx, shop.MillisOf(time.Now()).Add(time.Hour), 1000)
		return only(o, got), err
	}, false},
	{"Overdue", "read", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := h.Overdue(h.ctx, payBy+1, 1000)
		return only(o, got), err
	}, false},
	{"Changed", "read", isPending, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.Changed(h.ctx, []shop.ChangesQuery{{User: o.User}}, 10)
		return got[0].Orders, err
	}, false},
}

func isShipped(h *testShop) shop.Order {
	return h.ship(sending, parcel(isPaid(h).ID)).Order
}

func isReceived(h *testShop) shop.Order {
	got := val(confirm(h, isShipped(h)))(h.t)
	return got[0]
}

func confirm(h *testShop, o shop.Order) ([]shop.Order, error) {
	got, _, err := h.ConfirmReceipt(h.ctx, o.ID, o.User)
	return []shop.Order{got}, err
}

func only(o shop.Order, all []shop.Order) []shop.Order {
	return slices.DeleteFunc(all, func(other shop.Order) bool { return other.ID != o.ID })
}

// F1, F2: exactly the calls that create a new state, and Restamp, set changed_at. In every method that returns orders,
// exactly these calls set Stamped in the result.
func TestStamped(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 1000)
		for _, c := range stampCases {
			t.Run(c.method+"/"+c.name, func(t *testing.T) {
				h := &testShop{Store: h.Store, t: t, ctx: h.ctx, sales: h.sales, epoch: h.epoch}
				o := c.prepare(h)
				h.stamp(o.ID, longAgo)
				o.Touched = !c.stamps // the result does not depend on the argument
				before := h.clock().At
				got := val(c.do(h, o))(h.t)
				if len(got) == 0 {
					t.Fatal("no order was returned")
				}
				for _, answer := range got {
					if answer.ID != o.ID || answer.Touched != c.stamps {
						t.Errorf("order %s of %s: touched %v, want %v", answer.ID, o.ID, answer.Touched, c.stamps)
					}
				}
				if touched := len(only(o, h.changed(o.User, before))) == 1; touched != c.stamps {
					t.Errorf("the row is touched: %v, want %v", touched, c.stamps)
				}
				if len(only(o, h.changed(o.User, longAgo))) != 1 {
					t.Error("the row's change time was lost")
				}
			})
		}
	})
}

// The cases of TestStamped cover every method that returns orders.
func TestStampedKnowsAllMethods(t *testing.T) {
	t.Parallel()
	known := make(map[string]bool)
	for _, c := range stampCases {
		known[c.method] = true
	}
	answers := map[reflect.Type]bool{
		reflect.TypeFor[shop.Order](): true, reflect.TypeFor[[]shop.Order](): true,
		reflect.TypeFor[[]shop.Inserted](): true,
		reflect.TypeFor[[]shop.Changes]():  true,
	}
	all := make(map[string]bool)
	for m := range reflect.TypeFor[*store.Store]().Methods() {
		for out := range m.Type.Outs() {
			if answers[out] {
				all[m.Name] = true
			}
		}
	}
	same(t, "(-methods +cases)", slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(known)))
}
