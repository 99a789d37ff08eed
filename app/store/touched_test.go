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

// touchCase calls a method that returns orders. It states whether the call gives the order a new state.
type touchCase struct {
	method, name string
	prepare      func(h *testShop) shop.Order
	call         func(h *testShop, o shop.Order) ([]shop.Order, error)
	touches      bool
}

func asList(o shop.Order, err error) ([]shop.Order, error) { return []shop.Order{o}, err }

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

// newOrder and the functions below return orders in the initial states of the cases.
func newOrder(h *testShop) shop.Order { return h.order(h.sales[0], 1) }

func pendingOrder(h *testShop) shop.Order {
	o := newOrder(h)
	h.insert(o)
	return h.read(o.ID)
}

func openedOrder(h *testShop) shop.Order { return h.opened(h.sales[0], 1) }

func expiredOrder(h *testShop) shop.Order {
	o := pendingOrder(h)
	h.must(errOf(h.Expire(h.ctx, []shop.ID{o.ID}, payBy)))
	return h.read(o.ID)
}

func claimedOrder(h *testShop) shop.Order {
	o := newOrder(h)
	o.State, o.Reason, o.PayBy = shop.Refused, shop.ReasonDead, 0
	h.insert(o)
	claimed := val(h.ClaimHold(h.ctx, o.ID, shop.Refused))(h.t)
	return claimed
}

func latePaidOrder(h *testShop) shop.Order {
	o := expiredOrder(h)
	h.wantReceived(tradeOf(o), payment.OutcomeLate, shop.Expired)
	claimed := val(h.ClaimHold(h.ctx, o.ID, shop.Expired))(h.t)
	return claimed
}

func paidOrder(h *testShop) shop.Order {
	o := openedOrder(h)
	return h.wantReceived(tradeOf(o), payment.OutcomeTaken, shop.Paid)
}

func refundRequestedOrder(h *testShop) shop.Order {
	o := paidOrder(h)
	h.must(errOf(h.RequestRefund(h.ctx, payment.BuyerRefundRequest{Order: o.ID, User: o.User, At: opens})))
	return h.read(o.ID)
}

func refundDeclinedOrder(h *testShop) shop.Order {
	o := refundRequestedOrder(h)
	h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, By: 7, At: opens})))
	return h.read(o.ID)
}

func refundingOrder(h *testShop) shop.Order {
	o := paidOrder(h)
	h.must(errOf(beginRefund(h, o)))
	return h.read(o.ID)
}

func refundedOrder(h *testShop) shop.Order {
	o := refundingOrder(h)
	h.must(errOf(h.FinishRefund(h.ctx, o.ID, opens)))
	return h.read(o.ID)
}

// expire and the functions below are calls that several cases use.
func expire(h *testShop, o shop.Order) ([]shop.Order, error) {
	return h.Expire(h.ctx, []shop.ID{o.ID}, payBy)
}

func cancel(h *testShop, o shop.Order) ([]shop.Order, error) {
	return asList(h.Cancel(h.ctx, o.ID, o.User, payBy))
}

func setAddress(h *testShop, o shop.Order) ([]shop.Order, error) {
	return asList(h.SetAddress(h.ctx, o.ID, o.User, shop.Address{Name: "Ada", Phone: "1", Text: "Home"}, opens+20))
}

func addressedOrder(h *testShop) shop.Order {
	o := pendingOrder(h)
	h.must(errOf(setAddress(h, o)))
	return h.read(o.ID)
}

func openTrade(h *testShop, o shop.Order) ([]shop.Order, error) {
	return asList(h.OpenTrade(h.ctx, o.ID, o.User, opens+3, margin))
}

func endTraded(h *testShop, o shop.Order) ([]shop.Order, error) {
	return h.EndTraded(h.ctx, []shop.ID{o.ID}, shop.Expired, payBy)
}

func receivePayment(h *testShop, o shop.Order) ([]shop.Order, error) {
	got, _, err := h.Receive(h.ctx, tradeOf(o), opens+10)
	return asList(got, err)
}

func beginRefund(h *testShop, o shop.Order) ([]shop.Order, error) {
	from := []shop.OrderState{shop.Paid}
	return asList(h.BeginRefund(h.ctx, o.ID, from, payment.ReasonRefundShop, opens+20))
}

func requestRefund(h *testShop, o shop.Order) ([]shop.Order, error) {
	return asList(h.RequestRefund(h.ctx,
		payment.BuyerRefundRequest{Order: o.ID, User: o.User, Text: "too large", At: opens + 30}))
}

func decideRefund(approved bool) func(h *testShop, o shop.Order) ([]shop.Order, error) {
	return func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return asList(h.DecideRefund(h.ctx,
			payment.RefundDecision{Order: o.ID, By: 7, Approved: approved, At: opens + 40}))
	}
}

func bookRefund(h *testShop, o shop.Order) ([]shop.Order, error) {
	made := payment.MadeRefund{Order: o.ID, AmountFen: o.AmountFen, At: opens}
	return asList(h.Store.LostOrders().BookRefund(h.ctx, made))
}

func finishRefund(h *testShop, o shop.Order) ([]shop.Order, error) {
	return asList(h.FinishRefund(h.ctx, o.ID, opens+50))
}

func insert(h *testShop, o shop.Order) ([]shop.Order, error) { return inserted(h, o) }

var touchCases = []touchCase{
	{"InsertLost", "a new row", newOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return ordersOf(h.InsertLost(h.ctx, h.epoch, []shop.Order{o}, nil))
	}, true},
	{"EndLost", "a pending order", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.EndLost(h.ctx, []shop.ID{o.ID}, o.CreatedAt)
	}, true},
	{"Insert", "a new row", newOrder, insert, true},
	{"Insert", "the same order twice in a call", newOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return inserted(h, o, o)
	}, true},
	{"Insert", "an order that the guard refuses", newOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		o.Qty = 1_000_000
		return inserted(h, o)
	}, true},
	{"Insert", "an order of an unknown sale", newOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		o.Sale = 999
		return inserted(h, o)
	}, true},
	{"Insert", "an order whose key is used", newOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		first := newOrder(h)
		first.User, first.Key = o.User, o.Key
		h.insert(first)
		return inserted(h, o)
	}, true},
	{"Insert", "a new row among others that exist", newOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := inserted(h, pendingOrder(h), o)
		return got[1:], err
	}, true},
	{"Insert", "a row that exists", pendingOrder, insert, false},
	{"Insert", "a row that exists, among new ones", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := inserted(h, newOrder(h), o)
		return got[1:], err
	}, false},
	{"Insert", "a row that has ended", expiredOrder, insert, false},

	{"Expire", "a due order", pendingOrder, expire, true},
	{"Expire", "an expired order", expiredOrder, expire, false},
	{"Expire", "an order with a trade", openedOrder, expire, false},
	{"Expire", "an order that is not due", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.Expire(h.ctx, []shop.ID{o.ID}, payBy-1)
	}, false},
	{"Cancel", "a pending order", pendingOrder, cancel, true},
	{"Cancel", "an order that has ended", expiredOrder, cancel, false},
	{"Cancel", "an order with a trade", openedOrder, cancel, false},
	{"SetAddress", "of a pending order", pendingOrder, setAddress, true},
	{"SetAddress", "of a paid order", paidOrder, setAddress, true},
	{"SetAddress", "of a shipped order", shippedOrder, setAddress, false},
	{"SetAddress", "of an order with the same address", addressedOrder, setAddress, false},
	{"ClaimHold", "a pending order", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return asList(h.ClaimHold(h.ctx, o.ID, shop.Pending))
	}, false},
	{"Revive", "a refused order", claimedOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return asList(h.Revive(h.ctx, o, h.epoch, opens+20, payBy))
	}, true},
	{"Touch", "a pending order", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.Touch(h.ctx, []shop.ID{o.ID})
	}, true},

	{"OpenTrade", "of a pending order", pendingOrder, openTrade, false},
	{"OpenTrade", "again", openedOrder, openTrade, false},
	{"EndTraded", "a pending order", openedOrder, endTraded, true},
	{"EndTraded", "a paid order", paidOrder, endTraded, false},
	{"Receive", "for a pending order", openedOrder, receivePayment, true},
	{"Receive", "again", paidOrder, receivePayment, false},
	{"Receive", "late", expiredOrder, receivePayment, false},
	{"Receive", "a wrong amount", openedOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		o.AmountFen++
		return receivePayment(h, o)
	}, false},
	{"ReviveLate", "an order that had ended", latePaidOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return asList(h.ReviveLate(h.ctx, o, h.epoch, payBy+9))
	}, true},

	{"BeginRefund", "of a paid order", paidOrder, beginRefund, true},
	{"BeginRefund", "again", refundingOrder, beginRefund, false},
	{"RequestRefund", "of a paid order", paidOrder, requestRefund, true},
	{"RequestRefund", "again", refundRequestedOrder, requestRefund, false},
	{"RequestRefund", "after a declined request", refundDeclinedOrder, requestRefund, true},
	{"RequestRefund", "of a refunding order", refundingOrder, requestRefund, false},
	{"DecideRefund", "an approval", refundRequestedOrder, decideRefund(true), true},
	{"DecideRefund", "a refusal", refundRequestedOrder, decideRefund(false), true},
	{"DecideRefund", "a repeated refusal", refundDeclinedOrder, decideRefund(false), false},
	{"FinishRefund", "of a refunding order", refundingOrder, finishRefund, true},
	{"FinishRefund", "again", refundedOrder, finishRefund, false},
	{"BookRefund", "of a paid order", paidOrder, bookRefund, true},
	{"BookRefund", "again", refundedOrder, bookRefund, false},

	{"ConfirmReceipt", "of a shipped order", shippedOrder, confirmReceipt, true},
	{"ConfirmReceipt", "again", receivedOrder, confirmReceipt, false},
	{"FinishShipped", "a due order", shippedOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.FinishShipped(h.ctx, finishAt, finishAt+1, 1000)
		return onlyOrder(o, got), err
	}, true},

	{"Order", "marked as published", expiredOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		h.must(h.MarkPublished(h.ctx, []*shop.Order{&o}))
		return asList(h.Order(h.ctx, o.ID))
	}, false},
	{"Order", "read", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return asList(h.Order(h.ctx, o.ID))
	}, false},
	{"Checking", "with a problem", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		entry := &shop.Entry{Order: o.ID, Sale: o.Sale, User: o.User, Qty: o.Qty}
		problem := shop.Problem{Order: o.ID, Sale: o.Sale, User: o.User, Entry: entry}
		h.must(h.Store.Problems().Add(h.ctx, []shop.Problem{problem}, opens))
		got, err := h.Checking(h.ctx, o.User)
		return onlyOrder(o, got), err
	}, false},
	{"OrdersByID", "read", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.OrdersByID(h.ctx, []shop.ID{o.ID})
	}, false},
	{"OrdersOf", "read", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.OrdersOf(h.ctx, shop.OrdersQuery{User: o.User, Limit: 1})
		return got, err
	}, false},
	{"FindOrders", "read", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.FindOrders(h.ctx, store.OrderSearch{ID: o.ID, State: shop.Pending, Limit: 1})
		return got, err
	}, false},
	{"OrdersOfSale", "read", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		return h.OrdersOfSale(h.ctx, o.Sale, o.ID-1, 1)
	}, false},
	{"Unpublished", "read", expiredOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := h.Unpublished(h.ctx, shop.MillisOf(time.Now()).Add(time.Hour), 1000)
		return onlyOrder(o, got), err
	}, false},
	{"Overdue", "read", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, err := h.Overdue(h.ctx, payBy+1, 1000)
		return onlyOrder(o, got), err
	}, false},
	{"PrunableOrders", "read", expiredOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		// The other cases need the sale as it is.
		const set = "UPDATE sales SET closes_at = ?, retired_at = ? WHERE id = ?"
		h.must(errOf(h.DB().ExecContext(h.ctx, set, closedAt, 1, o.Sale)))
		defer func() { h.must(errOf(h.DB().ExecContext(h.ctx, set, closes, 0, o.Sale))) }()
		h.must(errOf(h.DB().ExecContext(h.ctx,
			"UPDATE orders SET unpublished_since = NULL, changed_at = changed_at WHERE id = ?", o.ID)))
		got, _, err := h.PrunableOrders(h.ctx, h.clock().At, o.ID-1, 1)
		return got, err
	}, false},
	{"Changed", "read", pendingOrder, func(h *testShop, o shop.Order) ([]shop.Order, error) {
		got, _, err := h.Changed(h.ctx, []shop.ChangesQuery{{User: o.User}}, 10)
		return got[0].Orders, err
	}, false},
}

func shippedOrder(h *testShop) shop.Order {
	return h.ship(shippingOptions, parcel(paidOrder(h).ID)).Order
}

func receivedOrder(h *testShop) shop.Order {
	got := val(confirmReceipt(h, shippedOrder(h)))(h.t)
	return got[0]
}

func confirmReceipt(h *testShop, o shop.Order) ([]shop.Order, error) {
	got, _, err := h.ConfirmReceipt(h.ctx, o.ID, o.User, opens+90)
	return []shop.Order{got}, err
}

func onlyOrder(o shop.Order, all []shop.Order) []shop.Order {
	return slices.DeleteFunc(all, func(other shop.Order) bool { return other.ID != o.ID })
}

// F1, F2: exactly the calls that create a new state, and Touch, set changed_at. In every method that returns orders,
// exactly these calls set Touched in the result.
func TestOnlyNewStatesTouchOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 1000)
		for _, c := range touchCases {
			t.Run(c.method+"/"+c.name, func(t *testing.T) {
				h := withTypes(&testShop{Store: h.Store, t: t, ctx: h.ctx, sales: h.sales, epoch: h.epoch})
				o := c.prepare(h)
				h.setChangedAt(o.ID, longAgo)
				o.Touched = !c.touches // the result does not depend on the argument
				before := h.clock().At
				got := val(c.call(h, o))(h.t)
				if len(got) == 0 {
					t.Fatal("no order was returned")
				}
				for _, order := range got {
					if order.ID != o.ID || order.Touched != c.touches {
						t.Errorf("order %s of %s: got Touched %v, want %v", order.ID, o.ID, order.Touched, c.touches)
					}
				}
				if touched := len(onlyOrder(o, h.changedOrders(o.User, before))) == 1; touched != c.touches {
					t.Errorf("row: got touched %v, want %v", touched, c.touches)
				}
				if len(onlyOrder(o, h.changedOrders(o.User, longAgo))) != 1 {
					t.Error("the row's change time was lost")
				}
			})
		}
	})
}

// The cases of TestOnlyNewStatesTouchOrders cover every method that returns orders.
func TestTouchCasesCoverAllMethods(t *testing.T) {
	t.Parallel()
	known := make(map[string]bool)
	for _, c := range touchCases {
		known[c.method] = true
	}
	orderTypes := map[reflect.Type]bool{
		reflect.TypeFor[shop.Order](): true, reflect.TypeFor[[]shop.Order](): true,
		reflect.TypeFor[[]shop.Inserted](): true,
		reflect.TypeFor[[]shop.Changes]():  true,
	}
	all := make(map[string]bool)
	for accessor := range reflect.TypeFor[*store.Store]().Methods() {
		if accessor.Type.NumIn() != 1 || accessor.Type.NumOut() != 1 {
			continue
		}
		for m := range accessor.Type.Out(0).Methods() { // of one of the store's types
			for out := range m.Type.Outs() {
				if orderTypes[out] {
					all[m.Name] = true
				}
			}
		}
	}
	wantEqual(t, "(-methods +cases)", slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(known)))
}
