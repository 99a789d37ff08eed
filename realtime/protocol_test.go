package realtime

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"stampede/app/order"
	"stampede/app/shop"
)

// Frames encoded without encoding/json equal its output.
func TestFastFramesEqualEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64().Draw(t, "id")
		text := rapid.OneOf(rapid.StringMatching(`[ -~]{0,40}`), rapid.String())
		r := order.Receipt{
			Order: shop.ID(rapid.Int64().Draw(t, "order")), Ticket: rapid.Int64().Draw(t, "ticket"),
			Place: rapid.Int64().Draw(t, "place"),
			State: shop.OrderState(rapid.OneOf(rapid.Just(string(shop.Reserved)), text).Draw(t, "state")),
		}
		if got, want := replyFrame(id, r), encode(reply{id, r}); !bytes.Equal(got, want) {
			t.Fatalf("got the reply\n%s, want\n%s", got, want)
		}
		e := &shop.Error{
			Code: shop.Code(rapid.OneOf(rapid.Just(string(shop.SoldOut)), text).Draw(t, "code")), Message: text.Draw(t,
				"message"),
			RetryMS: rapid.Int64().Draw(t, "retry"),
		}
		if rapid.Bool().Draw(t, "holds") {
			e.Orders = []shop.OrderRef{{ID: 1, State: shop.Pending}}
		}
		if got, want := rejectionFrame(id, e), encode(rejection{id, e}); !bytes.Equal(got, want) {
			t.Fatalf("got the rejection\n%s, want\n%s", got, want)
		}
	})
}
