package store_test

import (
	"testing"
	"time"

	"stampede/app"
)

// What the back office is to hear waits until it is marked, comes again after its lease, and once more when asked for.
func TestPostingsWaitUntilMarked(t *testing.T) {
	inShops(t, func(t *testing.T, h *shop) {
		now := opens + 60
		for i := range app.Millis(3) {
			o := h.paid(h.sales[0], 1)
			h.must(errOf(h.DecideRefund(h.ctx, app.RefundDecision{Order: o.ID, Yes: true, At: now})))
			h.must(errOf(h.FinishRefund(h.ctx, o.ID, now+i)))
		}
		claim := func(at app.Millis, limit, want int) []app.OutboxMessage {
			t.Helper()
			got := val(h.ClaimOutbox(h.ctx, at, limit))(h.t)
			if len(got) != want {
				t.Errorf("%d postings at +%d, want %d", len(got), at-now, want)
			}
			return got
		}
		claim(now-1, 10, 0)
		first := claim(now+2, 2, 2)
		if first[0].At > first[1].At {
			t.Error("the newer one came first")
		}
		h.must(h.MarkSent(h.ctx, first[:1]))
		claim(now+2, 10, 1)
		h.wantUnposted(2)
		again := claim(now.Add(app.OutboxLease)+2, 10, 2)
		h.must(h.MarkSent(h.ctx, again))
		h.wantUnposted(0)
		claim(now.Add(time.Hour), 10, 0)
		if n, err := h.Repost(h.ctx, now+1); err != nil || n != 2 {
			t.Errorf("posted again: %d, %v", n, err)
		}
		claim(now.Add(time.Hour), 10, 2)
	}, 10)
}

func (h *shop) wantUnposted(n int64) {
	h.t.Helper()
	got := val(h.Unposted(h.ctx))(h.t)
	if got != n {
		h.t.Errorf("%d postings wait, want %d", got, n)
	}
}
