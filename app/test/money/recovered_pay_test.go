package money

import (
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
)

// A recovery records a trade for every pending order, so that the gateway is queried. The order still cannot be paid
// without a delivery address, or in a hidden sale. The row may be kept, or written again from the stream.
func TestRecoveredOrderIsCheckedBeforePayment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   shop.Code
		lost   bool
	}{
		"no address":           {change: noAddress, want: shop.AddressRequired},
		"no address, row lost": {change: noAddress, want: shop.AddressRequired, lost: true},
		"hidden":               {change: hidden, want: shop.WrongState},
		"hidden, row lost":     {change: hidden, want: shop.WrongState, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sale := w.offer(3, 2)
			w.exec(c.change, sale.ID)
			o := w.order(sale, newID())
			if c.lost {
				w.deleteRows(o)
			}
			w.simulatePromotion()
			n := w.node(nil)
			w.recoverAll(n)
			if row := w.read(o.ID); row.State != shop.Pending || row.TradeOpened == 0 {
				t.Fatalf("after the recovery: %s, trade opened at %d; want pending with a trade", row.State, row.TradeOpened)
			}
			p, err := n.payments.Pay(n.ctx, o.User, o.ID, payment.ViaPage)
			if shop.AsError(err).Code != c.want {
				t.Errorf("pay returned %+v, %v; want %s", p, err, c.want)
			}
		})
	}
}

// Changes of a sale after which its orders cannot be paid.
const (
	noAddress = "UPDATE products SET ships = 1 WHERE id = (SELECT product_id FROM sales WHERE id = ?)"
	hidden    = "UPDATE sales SET hidden = 1 WHERE id = ?"
)

// P8: a node of the role api may run without the gateway. A recovery by such a node also schedules queries for the
// pending orders, because a trade in the database shows that the shop takes payments.
func TestRecoveryWithoutGatewayWatchesPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer(3, 2)
	n := w.node(nil)
	openPayment(w, n, w.order(sale, newID()))
	kept, lost := w.order(sale, newID()), w.order(sale, newID())
	w.deleteRows(lost)
	w.simulatePromotion()
	d := w.node(nil).driver()
	d.TakesPayments = false
	w.must(d.RunOnce(w.ctx))
	for name, o := range map[string]shop.Order{"kept": kept, "written again": lost} {
		if row := w.read(o.ID); row.State != shop.Pending || row.TradeOpened == 0 {
			t.Errorf("%s: got %s, trade opened at %d; want pending with a trade", name, row.State, row.TradeOpened)
		}
	}
}
