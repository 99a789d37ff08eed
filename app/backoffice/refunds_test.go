package backoffice

import (
	"testing"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// A decision changes a paid or shipped order once and writes one journal row; a repeated decision returns the order.
func TestRefundDecisionNeedsARefundableOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from    shop.OrderState
		approve bool
		code    shop.Code
	}{
		{shop.Paid, true, ""},
		{shop.Shipped, true, ""},
		{shop.Paid, false, shop.WrongState},
		{shop.Pending, true, shop.WrongState},
		{shop.Finished, true, shop.WrongState},
		{shop.Refunded, false, shop.WrongState},
	} {
		w := newWorld(t)
		w.order(1, 9, c.from)
		before := len(w.journalRows())
		refunds := &RefundService{Store: w.Store, RedisTime: w.redis.Now, Effects: w.effects()}
		actor := ada()
		for range 2 {
			row, err := refunds.Decide(w.ctx, actor, 1, c.approve, "")
			switch {
			case c.code != "" && (err == nil || shop.AsError(err).Code != c.code):
				t.Errorf("%s, approve %v: got %v, want %s", c.from, c.approve, err, c.code)
			case c.code == "" && (err != nil || row.State != shop.Refunding):
				t.Errorf("%s, approve %v: got %s, %v; want refunding", c.from, c.approve, row.State, err)
			}
		}
		want := 0
		if c.code == "" {
			want = 1
		}
		if rows := len(w.journalRows()) - before; rows != want {
			t.Errorf("%s, approve %v: got %d new journal rows, want %d", c.from, c.approve, rows, want)
		}
	}
}

func TestRefundOfUnknownOrderIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refunds := &RefundService{Store: w.Store, RedisTime: w.redis.Now, Effects: w.effects()}
	if _, err := refunds.Decide(w.ctx, ada(), 1, true, ""); err == nil || shop.AsError(err).Code != shop.NotFound {
		t.Errorf("decide: got %v, want not_found", err)
	}
	if _, _, err := refunds.Order(w.ctx, 1); err == nil || shop.AsError(err).Code != shop.NotFound {
		t.Errorf("read: got %v, want not_found", err)
	}
	w.order(1, 9, shop.Paid)
	if err := refunds.Retry(w.ctx, ada(), 1); err == nil || shop.AsError(err).Code != shop.WrongState {
		t.Errorf("retry: got %v, want wrong_state", err)
	}
	_, refund, err := refunds.Order(w.ctx, 1)
	if fakes.Must(t, err); refund != nil {
		t.Errorf("an order without a refund: got %+v, want nil", refund)
	}
}
