package realtime

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"stampede/app"
)

// However the log keeps an event, its buyer is sent what JSON says of the order.
func TestKeptEventsSayWhatTheOrderSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		qty, price := rapid.IntRange(1, 1000).Draw(t, "qty"), rapid.Int64Range(0, 1<<40).Draw(t, "price")
		o := app.Order{
			ID: app.ID(rapid.Int64Range(1, 1<<62).Draw(t, "id")), Sale: app.ID(rapid.Int64Range(1, 1<<62).Draw(t, "sale")),
			ProductName: rapid.OneOf(rapid.String(), rapid.Just("手机壳: 5 × \U0001f525"), rapid.StringMatching("[ -~]{0,20}")).Draw(t, "name"),
			Qty:         qty, PriceFen: price, AmountFen: int64(qty) * price, State: app.Pending, Rev: rapid.IntRange(1, 9).Draw(t, "rev"),
			Ticket: rapid.Int64Range(1, 1<<40).Draw(t, "ticket"), CreatedAt: 1_795_263_989_546, User: 5, Key: "not said", Hold: 3,
		}
		o.PayBy = o.CreatedAt + app.Millis(rapid.Int64Range(-1e12, 1e12).Draw(t, "window"))
		for _, change := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 1).Draw(t, "changes") {
			switch change {
			case 0:
				o.State = app.Expired
			case 1:
				o.Reason = app.ReasonPaidLate
			case 2:
				o.AmountFen++
			case 3:
				o.PaidAt = 5
			case 4:
				o.CancelledAt = 5
			case 5:
				o.TradeNo = "T"
			case 6:
				o.Tracking = "SF1"
			case 7:
				o.Address = &app.Address{Name: "n", Phone: "1", Text: "a\nb"}
			case 8:
				o.PayBy = 0
			}
		}
		o.Key = rapid.OneOf(rapid.StringMatching("[A-Za-z0-9._-]{8,64}"), rapid.String()).Draw(t, "key")
		at := Cursor{1_795_263_984_051, rapid.Int64Range(1, 1<<40).Draw(t, "n")}

		text := keptText(&o)
		if bytes.ContainsAny(text, "\n") {
			t.Fatalf("%q is more than a line", text)
		}
		e, err := readKept(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := e.frame(at), withCursor(string(orderFrame(&o)), at); !bytes.Equal(got, want) {
			t.Fatalf("kept as %q, which is sent as\n%s, want\n%s", text, got, want)
		}
	})
}

// An order that waits for its payment is most of what is told: it is kept short.
func TestNewOrdersAreKeptShort(t *testing.T) {
	t.Parallel()
	o := app.Order{
		ID: 117601529422155776, Sale: 117601503488778281, ProductName: "Lamp", Qty: 2, PriceFen: 9900, AmountFen: 19800,
		State: app.Pending, Ticket: 335, Rev: 1, CreatedAt: 1795263989546, PayBy: 1795263989546 + 60_000, User: 5, Key: "key-of-it",
	}
	const want = "117601529422155776 1 w5y94vgdmp5:2:9900:335:1:60000:key-of-it:Lamp"
	if got := string(keptText(&o)); got != want {
		t.Errorf("kept as %q, want %q", got, want)
	}
}

func TestUnreadableKeptEvents(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "1 1", "1 1 ", "1 1 2:3:4:5:6:7:key", "1 x 2:3:4:5:6:7:key:name", "1 1 2:3:4:5:6:x:key:name"} {
		if _, err := readKept(text); !errors.Is(err, app.ErrPermanent) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
