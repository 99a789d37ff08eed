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

// TestBudgetLimitsWorkToItsShare: the unused budget allows work without a wait. Over a long time the work takes at most
// its share.
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
		t.Errorf("got %v of work in a minute, want about %v", worked, maximum)
	}
}

// TestFullHasherRejectsCallers: a full queue rejects callers before any computation. A released place is free for the
// next caller.
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

// TestOneClientCannotFillHasherQueue: without a captcha, logins of one address take at most two places, and password
// checks of one account at most one place. Other callers, and callers with a captcha, still get places.
func TestOneClientCannotFillHasherQueue(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	busyAddr, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	entered := 0
	for range hashQueue {
		if _, err := h.Enter(false, 0, busyAddr); err == nil {
			entered++
		}
	}
	_, firstErr := h.Enter(false, 1, netip.Addr{})
	if _, err := h.Enter(false, 1, netip.Addr{}); firstErr != nil || err == nil {
		t.Errorf("two concurrent password checks of an account: got %v and %v, want only the second rejected", firstErr, err)
	}
	_, loginErr := h.Enter(false, 0, other)
	_, captchaErr := h.Enter(true, 0, busyAddr)
	if err := errors.Join(loginErr, captchaErr); entered != maxWithoutCaptchaPerAddr || err != nil {
		t.Errorf("got %d logins of one address, want %d; other callers: %v", entered, maxWithoutCaptchaPerAddr, err)
	}
}

// TestHasherReportsPressureAfterOneSecond: UnderPressure reports true if the queue has been non-empty for a second.
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
		t.Error("got pressure without a queue, want none")
	}
	second := enter()
	c.advance(pressureAfter - 1)
	if h.UnderPressure() {
		t.Error("got pressure before a second has passed, want none")
	}
	third := enter()
	first()
	c.advance(1)
	if !h.UnderPressure() {
		t.Error("got no pressure after a caller has waited for a second, want pressure")
	}
	second()
	if h.UnderPressure() {
		t.Error("got pressure with an empty queue, want none")
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
