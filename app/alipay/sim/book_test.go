package sim

import (
	"strconv"
	"testing"
	"time"
)

// A simulator that runs for a month keeps the trades of about two days. The sums of the ledger remain complete.
func TestBookDeletesOldTrades(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	b := newBook(func() time.Time { return now })
	const trades = 30 * 24
	for i := range trades {
		now = start.Add(time.Duration(i) * time.Hour)
		order := strconv.Itoa(i)
		trade := Trade{Order: order, AmountFen: 100, ExpiresAt: now.Add(time.Minute)}
		if _, err := b.addSigned(trade, i%2 == 0); err != nil {
			t.Fatal(err)
		}
		if i%2 > 0 { // never opened by its buyer
			continue
		}
		if _, err := b.take(order, false); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.refund(order, "1", 40); err != nil {
			t.Fatal(err)
		}
		if i >= 48 {
			if _, err := b.read(strconv.Itoa(i - 48)); err != nil {
				t.Fatalf("a trade of two days ago: got error %v, want the trade", err)
			}
		}
	}
	if len(b.orders) > 50 || len(b.tokens) > 50 || len(b.started) > 25 {
		t.Errorf("after %d trades, one per hour: got %d orders, %d tokens and %d started trades, want those of two days",
			trades, len(b.orders), len(b.tokens), len(b.started))
	}
	if l := b.ledger(); l.TakenFen != trades/2*100 || l.RefundedFen != trades/2*40 || len(l.Trades) != len(b.started) {
		t.Errorf("got %d fen taken, %d fen refunded and %d trades in the ledger, want %d, %d and %d", l.TakenFen,
			l.RefundedFen, len(l.Trades), trades/2*100, trades/2*40, len(b.started))
	}
}
