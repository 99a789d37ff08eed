package sim

import (
	"strconv"
	"testing"
	"time"
)

// A simulator that runs for two months keeps the paid trades of 7 days, which can be refunded, and the unpaid trades
// of two days. The sums of the ledger remain complete.
func TestBookDeletesOldTrades(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	b := newBook(func() time.Time { return now })
	const trades = 60 * 24
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
		if weekAgo := i - 7*24; weekAgo >= 0 {
			if _, _, err := b.refund(strconv.Itoa(weekAgo), "2", 10); err != nil {
				t.Fatalf("a refund of a trade paid 7 days ago: got error %v, want the refund", err)
			}
		}
	}
	if paid := len(b.started); len(b.orders) > paid+25 || len(b.tokens) > paid+25 || paid > 7*12+1 {
		t.Errorf("after %d trades, one per hour: got %d orders, %d tokens and %d paid trades, want those of 2 and 7 days",
			trades, len(b.orders), len(b.tokens), paid)
	}
	const refunded = trades/2*40 + (trades-7*24)/2*10
	if l := b.ledger(); l.TakenFen != trades/2*100 || l.RefundedFen != refunded || len(l.Trades) != len(b.started) {
		t.Errorf("got %d fen taken, %d fen refunded and %d trades in the ledger, want %d, %d and %d", l.TakenFen,
			l.RefundedFen, len(l.Trades), trades/2*100, refunded, len(b.started))
	}
}

// A simulator that starts again uses other trade numbers: the shop has stored the earlier ones, and would take a new
// payment for the second trade of another order.
func TestRestartedBookUsesNewTradeNumbers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	used := map[string]bool{}
	for range 2 {
		b := newBook(func() time.Time { return now })
		for order := range 100 {
			trade := Trade{Order: strconv.Itoa(order), AmountFen: 100, ExpiresAt: now.Add(time.Minute)}
			started, err := b.addSigned(trade, true)
			if err != nil || used[started.No] {
				t.Fatalf("got the number %q again, %v", started.No, err)
			}
			used[started.No] = true
		}
		now = now.Add(time.Second)
	}
}
