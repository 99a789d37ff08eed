package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app"
	"stampede/app/store"
)

// paid is a paid order of a buyer of its own.
func (h *shop) paid(sale app.ID, qty int) app.Order {
	h.t.Helper()
	o := h.order(sale, qty)
	h.insert(o)
	_, err := h.DB().ExecContext(h.ctx, "UPDATE orders SET state = 'paid', rev = 2, paid_at = ?, trade_no = ? WHERE id = ?",
		opens+9, "T"+o.ID.String(), o.ID)
	h.must(err)
	return h.read(o.ID)
}

// I5, P8: a refund begins once, only from the states given, keeps the units with the order, and its request repeated
// answers the same.
func TestBeginRefundOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		o := h.paid(h.sales[0], 2)
		begin := func(request string, from ...app.OrderState) (app.Order, error) {
			return h.BeginRefund(h.ctx, o.ID, from, request, app.ReasonRefundShop, opens+20)
		}
		if _, err := begin("R1", app.Expired, app.Cancelled); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("begun from another state: %v", err)
		}
		if _, err := h.BeginRefund(h.ctx, o.ID+1_000_000, []app.OrderState{app.Paid}, "R2", "", opens); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("begun for no order: %v", err)
		}
		for range 2 {
			got, err := begin("R1", app.Paid, app.Shipped)
			h.must(err)
			if got.State != app.Refunding || got.Reason != app.ReasonRefundShop || got.Rev != o.Rev+1 {
				t.Errorf("%+v", got)
			}
			if diff := cmp.Diff(got, h.read(o.ID)); diff != "" {
				t.Errorf("(-answer +row):\n%s", diff)
			}
		}
		if _, err := begin("R3", app.Paid, app.Shipped); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("a second refund of one order: %v", err)
		}
		h.wantTaken(h.sales[0], 2)
	})
}
