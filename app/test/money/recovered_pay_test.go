package money

import (
	"testing"

	"stampede/app/payment"
	"stampede/app/shop"
)

// After a recovery the gateway is queried about every pending order. The order still cannot be paid
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
			if row := w.read(o.ID); row.State != shop.Pending || !w.watched(o.ID) {
				t.Fatalf("after the recovery the order is %s, watched %v; want pending and watched", row.State, w.watched(o.ID))
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

// watched reports whether the gateway is queried about an order without a known opened payment.
func (w *world) watched(order shop.ID) bool {
	return w.count("SELECT COUNT(*) FROM trades WHERE opened_at = 0 AND check_at IS NOT NULL AND order_id = ?", order) == 1
}
