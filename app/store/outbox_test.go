package store_test

import (
	"slices"
	"testing"
	"time"

	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/shop"
)

// A message to the back office waits until it is marked. It is redelivered after its lease, and again after a repost.
func TestPostingsAreRedeliveredUntilMarked(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		now := opens + 60
		for i := range shop.Millis(3) {
			o := h.paid(h.sales[0], 1)
			h.must(errOf(h.DecideRefund(h.ctx, payment.RefundDecision{Order: o.ID, Approved: true, At: now})))
			h.must(errOf(h.FinishRefund(h.ctx, o.ID, now+i)))
		}
		claim := func(at shop.Millis, limit, want int) []outbox.Message {
			t.Helper()
			got := val(h.ClaimOutbox(h.ctx, at, limit))(h.t)
			if len(got) != want {
				t.Errorf("got %d due postings at +%d, want %d", len(got), at-now, want)
			}
			return got
		}
		claim(now-1, 10, 0)
		first := claim(now+2, 2, 2)
		if first[0].At > first[1].At {
			t.Error("the newer posting was claimed first")
		}
		h.must(h.MarkSent(h.ctx, first[:1], now+2, now+70))
		claim(now+2, 10, 1)
		h.wantUnposted(2)
		again := claim(now.Add(outbox.Lease)+2, 10, 2)
		h.must(h.MarkSent(h.ctx, again[:1], now+2, now+80)) // of a claim that has ended
		h.wantUnposted(2)
		h.must(h.MarkSent(h.ctx, again, now.Add(outbox.Lease)+2, now+80))
		h.wantUnposted(0)
		claim(now.Add(time.Hour), 10, 0)
		h.wantLastSent(now + 80)
		repost := func(since shop.Millis, want int64) {
			t.Helper()
			if n, err := h.Repost(h.ctx, since); err != nil || n != want {
				t.Errorf("Repost since +%d: got %d postings (%v), want %d", since-now, n, err, want)
			}
		}
		repost(now+80, 0)
		repost(now+70, 2)
		h.wantLastSent(now + 70)
		later := now.Add(time.Hour)
		lost := claim(later, 10, 2)
		repost(now+70, 0)
		h.must(h.MarkSent(h.ctx, lost, later, later)) // appended to the Redis that has lost them
		claim(later+1, 10, 2)
	}, 10)
}

// Groups returns the groups of the back office's stream that were recorded last.
func TestBackOfficeGroupsAreRecorded(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		for _, want := range [][]string{nil, {"backoffice", "mail"}, {"mail"}, {}} {
			if want != nil {
				h.must(h.RecordGroups(h.ctx, want))
			}
			if got := val(h.Groups(h.ctx))(t); !slices.Equal(got, want) {
				t.Errorf("got groups %q, want %q", got, want)
			}
		}
	}, 10)
}

func (s *testShop) wantLastSent(want shop.Millis) {
	s.t.Helper()
	if got := val(s.LastSent(s.ctx))(s.t); got != want {
		s.t.Errorf("LastSent: got %d, want %d", got, want)
	}
}

func (s *testShop) wantUnposted(n int64) {
	s.t.Helper()
	got := val(s.Unposted(s.ctx))(s.t)
	if got != n {
		s.t.Errorf("Unposted: got %d, want %d", got, n)
	}
}
