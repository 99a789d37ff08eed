package realtime

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"stampede/app/shop"
)

// OrderFrame equals the output of encoding/json in one line, and withCursor inserts a cursor.
func TestOrderFrameEqualsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return rapid.OneOf(
				rapid.Just(""), rapid.StringMatching(`[ -~]{0,20}`), rapid.Just("手机壳: 5 × \U0001f525"), rapid.String(),
			).Draw(t, name)
		}
		number := func(name string) int64 { return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, name) }
		instant := func(name string) shop.Millis { return shop.Millis(number(name)) }
		o := shop.Order{
			ID: shop.ID(rapid.Int64Min(1).Draw(t, "id")), Sale: shop.ID(rapid.Int64Min(1).Draw(t, "sale")),
			ProductName: text("name"), Qty: int(number("qty")),
			PriceFen: number("price"), AmountFen: number("amount"), RefundedFen: number("refunded"),
			State: rapid.SampledFrom(
				[]shop.OrderState{shop.Pending, shop.Paid, shop.OrderState(text("state"))},
			).Draw(t, "which state"),
			Reason: text("reason"),
			Ticket: number("ticket"), Rev: int(number("rev")), CreatedAt: instant("created"), PayBy: instant("pay by"),
			PaidAt: instant("paid"), CancelledAt: instant("cancelled"), TradeNo: text("trade"),
			Tracking: text("tracking"),
			User:     5, Key: text("key"), Hold: 3,
		}
		if rapid.Bool().Draw(t, "address") {
			o.Address = &shop.Address{Name: text("who"), Phone: text("phone"), Text: text("where")}
		}
		o.PayUntil = o.PaymentEnds()
		want := encode(struct {
			Ev    string      `json:"ev"`
			Key   string      `json:"key"`
			Order *shop.Order `json:"order"`
		}{"order", o.Key, &o})
		got := OrderFrame(&o)
		if !bytes.Equal(got, want) || bytes.IndexByte(got, '\n') >= 0 {
			t.Fatalf("got the frame\n%s, want\n%s", got, want)
		}
		var h orderEvent
		framed := withCursor(string(got), "1795222790123.5f3a9c1e")
		if err := json.Unmarshal(framed, &h); err != nil || h.Cursor != "1795222790123.5f3a9c1e" || h.Ev != "order" {
			t.Fatalf("got the frame %s (error %v), want the inserted cursor", framed, err)
		}
	})
}
