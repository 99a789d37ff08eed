package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/store"
)

// rehearse begins a rehearsal of the shop's first sale, whose copy is open and loaded.
func (h *shop) rehearse() app.Sale {
	h.t.Helper()
	sale, err := h.Sale(h.ctx, h.sales[0])
	h.must(err)
	shadow := sale
	shadow.ID = nextID()
	shadow.Slot, shadow.Rehearses, shadow.Epoch, shadow.Version = shadow.ID, sale.ID, 0, 1
	r := app.Rehearsal{Sale: shadow.ID, Of: sale.ID, Shoppers: 5, Units: sale.Initial, By: "Ada"}
	h.must(h.begin(r, shadow))
	h.must(h.MarkLoaded(h.ctx, shadow.ID, h.epoch, 1))
	return shadow
}

func (h *shop) begin(r app.Rehearsal, shadow app.Sale) error {
	_, err := h.Act(h.ctx, operator(), func(ctx context.Context) (app.Act, error) {
		return app.Act{Kind: "rehearsal.begin", Object: "sale"}, h.AddRehearsal(ctx, &r, &shadow, time.Minute)
	})
	return err
}

// The sale of a rehearsal is in no list, also at the very hours of the sale that it copies; by its number it is found,
// and it is among the loaded ones, which sweeps and audits look after.
func TestRehearsalIsInNoList(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		shadow := h.rehearse()
		has := func(sales []app.Sale) bool {
			return slices.ContainsFunc(sales, func(s app.Sale) bool { return s.ID == shadow.ID })
		}
		for phase, now := range map[app.Phase]app.Millis{
			app.Upcoming: opens - 1, app.Open: opens + 1, app.Ended: closes + 1,
		} {
			sales, _, err := h.SalesByPhase(h.ctx, phase, now, 1, 20)
			h.must(err)
			if has(sales) || len(sales) != 1 {
				t.Errorf("%s sales are %+v", phase, sales)
			}
		}
		for _, slot := range []app.ID{h.slot, shadow.Slot} {
			sales, err := h.SalesOfSlot(h.ctx, slot)
			h.must(err)
			if has(sales) {
				t.Errorf("slot %s shows it", slot)
			}
		}
		records, _, err := h.SaleRecords(h.ctx, app.SalesQuery{Page: 1, Size: 20})
		h.must(err)
		slots, err := h.Slots(h.ctx, 0, closes+1)
		h.must(err)
		if len(records) != 1 || len(slots) != 1 || slots[0].Sales != 1 {
			t.Errorf("operators see sales %+v in slots %+v", records, slots)
		}
		if _, err := h.NextOpening(h.ctx, opens, opens+1); err != nil {
			t.Errorf("the real sale does not open: %v", err)
		}
		loaded, err := h.LoadedSales(h.ctx, 0)
		h.must(err)
		found, err := h.Sale(h.ctx, shadow.ID)
		h.must(err)
		if !has(loaded) || found.Rehearses != h.sales[0] {
			t.Errorf("loaded are %+v, it is %+v", loaded, found)
		}
		h.insert(h.order(h.sales[0], 1), h.order(shadow.ID, 1))
		for _, q := range []app.OrderSearch{{Limit: 20}, {State: app.Pending, Limit: 20}} {
			orders, _, err := h.FindOrders(h.ctx, q)
			h.must(err)
			if len(orders) != 1 || orders[0].Sale != h.sales[0] {
				t.Errorf("a search %+v finds %+v", q, orders)
			}
		}
		orders, _, err := h.FindOrders(h.ctx, app.OrderSearch{Sale: shadow.ID, Limit: 20})
		if err != nil || len(orders) != 1 {
			t.Errorf("asked for by the sale: %+v, %v", orders, err)
		}
	})
}

// The life of a rehearsal in the database: one at a time, ended once, removed only when its orders have ended, and
// nothing of it comes back: an entry that is written late becomes no order.
func TestRehearsalIsRemovedForGood(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		shadow := h.rehearse()
		other := shadow
		other.ID = nextID()
		if err := h.begin(app.Rehearsal{Sale: other.ID, Of: h.sales[0]}, other); code(err) != app.Conflict {
			t.Errorf("a second rehearsal: %v", err)
		}
		h.must(h.KeepRehearsal(h.ctx, shadow.ID))
		h.must(h.OpenRehearsal(h.ctx, shadow.ID, opens+5, closes-5))
		kept, ended := h.order(h.sales[0], 1), h.order(shadow.ID, 1)
		h.insert(ended, kept)

		// while it runs nothing of it goes, and none that holds units ever does
		if err := h.RemoveRehearsed(h.ctx, shadow.ID, []app.ID{ended.ID}); !errors.Is(err, app.ErrPermanent) {
			t.Errorf("a pending order was removed: %v", err)
		}
		h.must(h.RemoveRehearsal(h.ctx, shadow.ID))
		h.must(h.EndRehearsal(h.ctx, shadow.ID, opens+10))
		h.must(h.EndRehearsal(h.ctx, shadow.ID, opens+99))
		if sale, err := h.Sale(h.ctx, shadow.ID); err != nil || sale.ClosesAt != opens+10 || sale.Version != 3 {
			t.Errorf("ended twice it is %+v, %v", sale, err)
		}
		if err := h.KeepRehearsal(h.ctx, shadow.ID); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("an ended one was kept: %v", err)
		}
		if err := h.OpenRehearsal(h.ctx, shadow.ID, opens, closes); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("an ended one was opened: %v", err)
		}
		if err := h.RemoveRehearsal(h.ctx, shadow.ID); !errors.Is(err, app.ErrTransient) {
			t.Errorf("its sale was removed before its orders: %v", err)
		}
		if _, err := h.Expire(h.ctx, []app.ID{ended.ID}, payBy); err != nil {
			t.Fatal(err)
		}
		if err := h.RemoveRehearsed(h.ctx, shadow.ID, []app.ID{ended.ID, kept.ID}); !errors.Is(err, app.ErrPermanent) {
			t.Errorf("a real sale's order was removed: %v", err)
		}
		h.must(h.RemoveRehearsed(h.ctx, shadow.ID, []app.ID{ended.ID}))
		h.must(h.RemoveRehearsed(h.ctx, shadow.ID, []app.ID{ended.ID})) // after a crash
		h.must(h.RemoveRehearsal(h.ctx, shadow.ID))
		h.must(h.RemoveRehearsal(h.ctx, shadow.ID))
		if _, _, err := h.Rehearsing(h.ctx); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("it is not gone: %v", err)
		}

		if _, seq, err := h.PartitionEpoch(h.ctx, 0); err != nil || seq < max(ended.Seq, kept.Seq) {
			t.Errorf("of the numbers that Redis has given out up to %d is known: %v", seq, err)
		}
		late := h.order(shadow.ID, 1)
		got := h.insert(late, h.order(h.sales[0], 1)) // in one batch with a real one
		if got[0].Order.State != app.Refused || got[1].Order.State != app.Pending {
			t.Errorf("a late entry became %+v beside %+v", got[0].Order, got[1].Order)
		}
		if _, err := h.Order(h.ctx, late.ID); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("a late entry has a row: %v", err)
		}
		stranger := h.order(nextID(), 1)
		got = h.insert(stranger)
		if got[0].Order.Reason != app.ReasonNoSale || h.read(stranger.ID).State != app.Refused {
			t.Errorf("an order of a sale that never was became %+v", got[0].Order)
		}
		h.wantTaken(h.sales[0], 2)
		h.must(h.ForgetRehearsals(h.ctx, app.MillisOf(time.Now().Add(time.Hour))))
		h.must(h.begin(app.Rehearsal{Sale: other.ID, Of: h.sales[0]}, other))
	})
}

// I8: what Redis has given out stays known when the rehearsal that had the newest of it is gone, and forgotten.
func TestForgottenRehearsalLeavesItsSeq(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		shadow := h.rehearse()
		older, newest := h.order(h.sales[0], 1), h.order(shadow.ID, 1)
		h.insert(older, newest)
		h.must(h.EndRehearsal(h.ctx, shadow.ID, opens+10))
		if _, err := h.Expire(h.ctx, []app.ID{newest.ID}, payBy); err != nil {
			t.Fatal(err)
		}
		h.must(h.RemoveRehearsed(h.ctx, shadow.ID, []app.ID{newest.ID}))
		h.must(h.RemoveRehearsal(h.ctx, shadow.ID))
		h.must(h.ForgetRehearsals(h.ctx, app.MillisOf(time.Now().Add(time.Hour))))
		if _, seq, err := h.PartitionEpoch(h.ctx, 0); err != nil || seq != newest.Seq {
			t.Errorf("seq %d is known (%v), want %d", seq, err, newest.Seq)
		}
	})
}
