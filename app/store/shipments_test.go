package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"stampede/app/journal"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	shippedAt = opens + 60_000
	finishAt  = shippedAt + 14*24*3_600_000
)

var shippingOptions = store.Shipping{By: 7, At: shippedAt, Finish: finishAt}

func parcel(order shop.ID) store.Parcel {
	return store.Parcel{Order: order, Carrier: "顺丰速运", Tracking: "SF-" + order.String()}
}

// tryShip returns the outcomes of a dry run.
func (s *testShop) tryShip(how store.Shipping, parcels ...store.Parcel) []store.ShippedOrder {
	s.t.Helper()
	var shipped []store.ShippedOrder
	s.must(errOf(s.RunOperation(s.ctx, dryRun(operator()), func(tx *store.Store) (_ journal.Operation, err error) {
		shipped, err = tx.Shipments().Ship(s.ctx, how, parcels)
		return journal.Operation{}, err
	})))
	return shipped
}

// ship enters one parcel and returns its outcome.
func (s *testShop) ship(how store.Shipping, p store.Parcel) store.ShippedOrder {
	s.t.Helper()
	all := val(s.Ship(s.ctx, how, []store.Parcel{p}))(s.t)
	return all[0]
}

// An order is shipped once, only from paid, and keeps its units. The same parcel again changes nothing; another parcel
// needs Replace. A dry run returns the same outcomes as the later call.
func TestOrderIsShippedOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		paid, withRequest, unpaid := h.paid(h.sales[0], 2), h.paid(h.sales[0], 1), h.order(h.sales[0], 1)
		h.insert(unpaid)
		_, err := h.RequestRefund(h.ctx,
			payment.BuyerRefundRequest{Order: withRequest.ID, User: withRequest.User, Text: "too large", At: opens + 30})
		h.must(err)
		other := parcel(paid.ID)
		other.Tracking = "SF-other"
		replace := shippingOptions
		replace.Replace = true
		for _, step := range []struct {
			how   store.Shipping
			p     store.Parcel
			want  store.ShipOutcome
			state shop.OrderState
			rev   int
		}{
			{shippingOptions, parcel(paid.ID), store.ShipDone, shop.Shipped, 3},
			{shippingOptions, parcel(paid.ID), store.ShipUnchanged, shop.Shipped, 3},
			{replace, parcel(paid.ID), store.ShipUnchanged, shop.Shipped, 3},
			{shippingOptions, other, store.ShipAnotherParcel, shop.Shipped, 3},
			{replace, other, store.ShipDone, shop.Shipped, 4},
			{shippingOptions, parcel(withRequest.ID), store.ShipRefund, shop.Paid, 3},
			{shippingOptions, parcel(unpaid.ID), store.ShipState, shop.Pending, 1},
			{shippingOptions, parcel(nextID()), store.ShipNoOrder, "", 0},
		} {
			dryRunResult := h.tryShip(step.how, step.p)
			got := h.ship(step.how, step.p)
			if dryRunResult[0].Outcome != step.want || got.Outcome != step.want || got.Order.State != step.state ||
				got.Order.Rev != step.rev {
				t.Errorf("step %+v: the dry run returned %s, the call %+v", step, dryRunResult[0].Outcome, got)
			}
			if step.state == "" {
				continue
			}
			wantEqual(t, "(-result +row)", got.Order, h.read(step.p.Order), ignoreTouched)
		}
		sent := val(h.ShipmentOf(h.ctx, paid.ID))(h.t)
		want := store.Shipment{
			Order: paid.ID, Carrier: "顺丰速运", Tracking: "SF-other", ShippedAt: shippedAt, ShippedBy: 7, FinishAt: finishAt,
		}
		wantEqual(t, "(-want +got)", want, sent)
		if o := h.read(paid.ID); o.Tracking != "顺丰速运 SF-other" {
			t.Errorf("got the tracking %q of the order", o.Tracking)
		}
		wantErr(t, "a shipment of an unpaid order", errOf(h.ShipmentOf(h.ctx, unpaid.ID)), shop.ErrNoRow)
		h.wantTaken(h.sales[0], 4)
	}, 10)
}

// Parcels that two callers enter concurrently are entered once. A list may name an order twice, and an order that
// cannot be shipped does not prevent the others.
func TestConcurrentShipEntersEachParcelOnce(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		var list []store.Parcel
		for range 6 {
			list = append(list, parcel(h.paid(h.sales[0], 1).ID))
		}
		list = append(list, list[0], parcel(nextID()))
		dryRunResult := h.tryShip(shippingOptions, list...)
		done := make([]map[store.ShipOutcome]int, 2)
		var g errgroup.Group
		for i := range done {
			done[i] = make(map[store.ShipOutcome]int)
			g.Go(func() error {
				all, err := h.Ship(h.ctx, shippingOptions, list)
				for _, one := range all {
					done[i][one.Outcome]++
				}
				return err
			})
		}
		h.must(g.Wait())
		both, same := done[0][store.ShipDone]+done[1][store.ShipDone],
			done[0][store.ShipUnchanged]+done[1][store.ShipUnchanged]
		if both != 6 || same != 8 || done[0][store.ShipNoOrder] != 1 {
			t.Errorf("got the outcomes %v, want 6 shipped and 8 unchanged", done)
		}
		if dryRunResult[0].Outcome != store.ShipDone || dryRunResult[6].Outcome != store.ShipUnchanged ||
			dryRunResult[7].Outcome != store.ShipNoOrder {
			t.Errorf("dry run: got %v", dryRunResult)
		}
	}, 20)
}

// A shipped order is finished once, by its buyer or by time. It is not finished while its refund waits for an operator
// or is open.
func TestShippedOrderFinishesOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 20)
		mine, slow := h.paid(h.sales[0], 1), h.paid(h.sales[0], 1)
		withRequest, refunding := h.paid(h.sales[0], 1), h.paid(h.sales[0], 1)
		if got, _, err := h.ConfirmReceipt(h.ctx, mine.ID, mine.User, opens+90); err != nil || got.State != shop.Paid {
			t.Errorf("receipt of an unshipped order: got state %s (%v), want paid", got.State, err)
		}
		for _, o := range []shop.Order{mine, slow, withRequest, refunding} {
			h.ship(shippingOptions, parcel(o.ID))
		}
		h.must(errOf(h.RequestRefund(h.ctx,
			payment.BuyerRefundRequest{Order: withRequest.ID, User: withRequest.User, Text: "late", At: shippedAt})))
		h.must(
			errOf(h.DecideRefund(h.ctx,
				payment.RefundDecision{Order: refunding.ID, By: 7, Approved: true, At: shippedAt})),
		)

		if _, _, err := h.ConfirmReceipt(h.ctx, mine.ID, slow.User, opens+90); !errors.Is(err, shop.ErrNoRow) {
			t.Errorf("receipt by another user: got error %v, want ErrNoRow", err)
		}
		o, waits, err := h.ConfirmReceipt(h.ctx, withRequest.ID, withRequest.User, opens+90)
		if err != nil || !waits || o.State != shop.Shipped {
			t.Errorf("receipt of an order with a requested refund: got state %s (%v), want shipped", o.State, err)
		}
		for range 2 {
			got, waits, err := h.ConfirmReceipt(h.ctx, mine.ID, mine.User, opens+90)
			if err != nil || waits || got.State != shop.Finished || got.Rev != 4 {
				t.Errorf("receipt: got %+v (%v), want a finished order", got, err)
			}
		}

		later := finishAt.Add(24 * time.Hour)
		for _, step := range []struct {
			now             shop.Millis
			checked, finish int
		}{{finishAt - 1, 0, 0}, {finishAt, 3, 1}, {finishAt, 0, 0}, {later, 1, 0}} {
			rows, checked, err := h.FinishShipped(h.ctx, step.now, later, 100)
			h.must(err)
			if checked != step.checked || len(rows) != step.finish {
				t.Errorf("step %+v: got %d checked and %d finished orders", step, checked, len(rows))
			}
			for _, o := range rows {
				if diff := cmp.Diff(o, h.read(o.ID), ignoreTouched); diff != "" || o.ID != slow.ID ||
					o.State != shop.Finished {
					t.Errorf("(-result +row):\n%s", diff)
				}
			}
		}
		for id, state := range map[shop.ID]shop.OrderState{withRequest.ID: shop.Shipped, refunding.ID: shop.Refunding} {
			if o := h.read(id); o.State != state {
				t.Errorf("got state %s, want %s", o.State, state)
			}
		}
		h.wantTaken(h.sales[0], 4)
	})
}

// An email about a parcel is due until it is marked. A replacement parcel has its own email. An email that became due
// again, because Redis may have lost it, is not marked by a node that claimed it before.
func TestShipmentEmailIsDueUntilMarked(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		o := h.paid(h.sales[0], 1)
		h.ship(shippingOptions, parcel(o.ID))
		claim := func(at shop.Millis) []store.Shipment {
			t.Helper()
			due := val(h.ClaimShipped(h.ctx, at, 10))(h.t)
			return due
		}
		first := claim(shippedAt)
		if len(first) != 1 || len(claim(shippedAt)) != 0 || len(claim(shippedAt.Add(outbox.Lease))) != 1 {
			t.Fatalf("got the claim %v, want one email, once within %s", first, outbox.Lease)
		}
		replace, other := shippingOptions, parcel(o.ID)
		replace.Replace, replace.At, other.Tracking = true, shippedAt+5, "SF-other"
		h.ship(replace, other)
		h.must(h.MarkEmailSent(h.ctx, first[0], shippedAt))
		second := claim(finishAt)
		if len(second) != 1 || second[0].Tracking != "SF-other" {
			t.Fatalf("got the claim %v, want the replacement parcel", second)
		}
		h.must(h.RescheduleEmails(h.ctx, shippedAt+6)) // too old
		h.must(h.MarkEmailSent(h.ctx, second[0], finishAt))
		if again := claim(finishAt * 2); len(again) != 0 {
			t.Errorf("got the claim %v, want none", again)
		}
		h.must(h.RescheduleEmails(h.ctx, shippedAt+5))
		third := claim(finishAt)
		h.must(h.RescheduleEmails(h.ctx, shippedAt+5))
		h.must(h.MarkEmailSent(h.ctx, third[0], finishAt))
		if again := claim(finishAt); len(again) != 1 {
			t.Errorf("got the claim %v, want one email", again)
		}
	}, 10)
}
