package account

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// testClock is a clock that tests advance.
type testClock struct{ at atomic.Int64 }

func (c *testClock) now() time.Time { return time.Unix(1_800_000_000, c.at.Load()) }

func (c *testClock) advance(d time.Duration) { c.at.Add(int64(d)) }

// TestBudgetLimitsWorkToItsShare: the saved budget is used first. Over a long time the work takes at most its share.
func TestBudgetLimitsWorkToItsShare(t *testing.T) {
	t.Parallel()
	var c testClock
	b := newBudget(0.25, time.Second, c.now)
	var worked time.Duration
	const step = 40 * time.Millisecond
	for c.at.Load() < int64(time.Minute) {
		if pause := b.wait(); pause > 0 {
			c.advance(pause)
			continue
		}
		c.advance(step) // duration of the work
		worked += step
		b.pay(step)
	}
	if maximum := time.Minute/4 + time.Second + 2*step; worked > maximum || worked < maximum-time.Second {
		t.Errorf("%v of a minute were worked, want about %v", worked, maximum)
	}
}

// TestFullHasherRejectsCallers: a full queue rejects callers before any computation. A free place is available again.
func TestFullHasherRejectsCallers(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	var leaves []func()
	for range hashQueue + 1 {
		leave, err := h.Enter(true, 0, netip.Addr{})
		kit.Must(t, err)
		leaves = append(leaves, leave)
	}
	_, err := h.Enter(true, 0, netip.Addr{})
	var e *shop.Error
	if !errors.As(err, &e) || e.Code != shop.Busy || e.RetryMS <= 0 {
		t.Fatalf("got %v, want busy", err)
	}
	leaves[0]()
	if _, err := h.Enter(true, 0, netip.Addr{}); err != nil {
		t.Error(err)
	}
}

// TestOneClientCannotFillHasherQueue: without a captcha, logins of one address take at most two places and password
// proofs of one account at most one. Other callers and solved captchas still find places.
func TestOneClientCannotFillHasherQueue(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	entered := 0
	for range hashQueue {
		if _, err := h.Enter(false, 0, one); err == nil {
			entered++
		}
	}
	_, firstErr := h.Enter(false, 1, netip.Addr{})
	if _, err := h.Enter(false, 1, netip.Addr{}); firstErr != nil || err == nil {
		t.Errorf("a proof of an account: %v; another at the same time: %v, want one busy", firstErr, err)
	}
	_, loginErr := h.Enter(false, 0, other)
	_, captchaErr := h.Enter(true, 0, one)
	if err := errors.Join(loginErr, captchaErr); entered != maxWithoutCaptchaPerAddr || err != nil {
		t.Errorf("%d log ins of one address entered, want %d; others: %v", entered, maxWithoutCaptchaPerAddr, err)
	}
}

// TestHasherReportsPressureAfterOneSecond: pressure means that the queue has not been empty for a second.
func TestHasherReportsPressureAfterOneSecond(t *testing.T) {
	t.Parallel()
	var c testClock
	h := newHasher(c.now)
	enter := func() func() {
		leave, err := h.Enter(true, 0, netip.Addr{})
		kit.Must(t, err)
		return leave
	}
	first := enter()
	c.advance(time.Minute)
	if h.UnderPressure() {
		t.Error("pressure is reported without a queue")
	}
	second := enter()
	c.advance(pressureAfter - 1)
	if h.UnderPressure() {
		t.Error("pressure is reported before a second has passed")
	}
	third := enter()
	first()
	c.advance(1)
	if !h.UnderPressure() {
		t.Error("no pressure is reported after a caller waited for a second")
	}
	second()
	if h.UnderPressure() {
		t.Error("pressure is reported with an empty queue")
	}
	third()
}

// TestHasherComputesOneAtATime: hashes run one at a time. A cancelled caller returns immediately.
func TestHasherComputesOneAtATime(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	var inside, maximum atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_ = h.compute(t.Context(), func() {
				maximum.Store(max(maximum.Load(), inside.Add(1)))
				inside.Add(-1)
			})
		})
	}
	wg.Wait()
	if maximum.Load() != 1 {
		t.Errorf("%d hashes ran at the same time, want 1", maximum.Load())
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	h.slot <- struct{}{}
	if _, err := h.Matches(cancelled, "", goodPassword); !errors.Is(err, &shop.Error{Code: shop.Busy}) {
		t.Errorf("got %v, want busy", err)
	}
	<-h.slot
}
