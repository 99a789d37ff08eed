package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// deadlineRecorder is a deadline handler that records the due orders.
type deadlineRecorder struct {
	mu         sync.Mutex
	deliveries map[shop.ID]int
	due        func(orders []shop.ID) ([]shop.ID, error) // nil: all can leave the queue
}

func newDeadlineRecorder() *deadlineRecorder {
	return &deadlineRecorder{deliveries: make(map[shop.ID]int)}
}

func (recorder *deadlineRecorder) Due(_ context.Context, _ int, orders []shop.ID) ([]shop.ID, error) {
	recorder.mu.Lock()
	for _, id := range orders {
		recorder.deliveries[id]++
	}
	recorder.mu.Unlock()
	if recorder.due != nil {
		return recorder.due(orders)
	}
	return orders, nil
}

func (recorder *deadlineRecorder) count(id shop.ID) int {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	return recorder.deliveries[id]
}

func (recorder *deadlineRecorder) size() int {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	return len(recorder.deliveries)
}

func (f *fixture) now() shop.Millis {
	f.t.Helper()
	now, err := f.inventory.Now(f.ctx)
	f.must(err)
	return now
}

// P5: orders are delivered when they are due, not earlier, and leave the queue when they are finished.
func TestSweeperDeliversDueOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		now := f.now()
		due, soon, later := newID(), newID(), newID()
		f.must(f.queue().Schedule(f.ctx, 1, []shop.Deadline{
			{Order: due, PayBy: now - 1},
			{Order: soon, PayBy: now.Add(150 * time.Millisecond)},
			{Order: later, PayBy: now.Add(time.Hour)},
		}))
		recorder := newDeadlineRecorder()
		s := NewSweeper(f.inventory, 1, recorder)
		s.lease = testTimeout // on a busy machine a shorter lease ends before the drop
		f.run(s)
		kit.Eventually(t, testTimeout, func() (bool, string) {
			return recorder.count(due) == 1 && recorder.count(soon) == 1, fmt.Sprintf("%d orders were delivered", recorder.size())
		})
		if deliveredAt := f.now(); deliveredAt < now.Add(150*time.Millisecond) {
			t.Fatalf("an order was delivered %v early", now.Add(150*time.Millisecond).Sub(deliveredAt))
		}
		kit.Eventually(t, testTimeout, func() (bool, string) {
			return f.stats().Deadlines == 1, fmt.Sprintf("%d left", f.stats().Deadlines)
		})
		if recorder.count(later) != 0 {
			t.Fatal("an order was delivered an hour early")
		}
	})
}

// Scheduling a deadline again does not change its score.
func TestScheduleKeepsTheFirstDeadline(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	id := newID()
	for _, at := range []shop.Millis{5000, 9000} {
		f.must(f.queue().Schedule(f.ctx, 1, []shop.Deadline{{Order: id, PayBy: at}}))
	}
	if score, err := f.client.ZScore(f.ctx, f.inventory.parts[1].keys.deadlines, id.String()).Result(); err != nil ||
		score != 5000 {
		t.Fatalf("got score %v, %v, want 5000", score, err)
	}
	f.must(f.queue().Schedule(f.ctx, 1, nil))
}

// Orders of a dead sweeper are due again when the lease ends. So are failed and unfinished orders.
func TestExpiredLeaseMakesOrdersDue(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		kept, failed := newID(), newID()
		f.must(f.queue().Schedule(f.ctx, 1, []shop.Deadline{{Order: kept, PayBy: 1}, {Order: failed, PayBy: 2}}))
		dead := NewSweeper(f.inventory, 1, newDeadlineRecorder())
		dead.lease = time.Hour
		held, _, err := dead.claim(f.ctx)
		if err != nil || len(held.orders) != 2 {
			t.Fatalf("got the leased orders %v, %v, want 2", held, err)
		}
		if held, _, err := dead.claim(f.ctx); err != nil || len(held.orders) != 0 {
			t.Fatalf("got %v, %v under a lease, want no orders", held, err)
		}
		dead.lease = 50 * time.Millisecond
		dead.renew(f.ctx, held)
		recorder := newDeadlineRecorder()
		recorder.due = func(orders []shop.ID) ([]shop.ID, error) {
			if recorder.count(failed) < 3 {
				return nil, errors.New("no database")
			}
			return []shop.ID{failed}, nil
		}
		s := NewSweeper(f.inventory, 1, recorder)
		s.lease = 30 * time.Millisecond
		f.run(s)
		kit.Eventually(t, testTimeout, func() (bool, string) {
			return f.stats().Deadlines == 1 && recorder.count(kept) > 4, fmt.Sprintf("%d left", f.stats().Deadlines)
		})
	})
}

// A lease is renewed while the handler works, and only its owner may drop orders under it.
func TestLeaseIsRenewed(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		id := newID()
		f.must(f.queue().Schedule(f.ctx, 1, []shop.Deadline{{Order: id, PayBy: 1}}))
		recorder := newDeadlineRecorder()
		s := NewSweeper(f.inventory, 1, recorder)
		s.lease = 6 * time.Second // renewed every two seconds
		other := NewSweeper(f.inventory, 1, newDeadlineRecorder())
		recorder.due = func(orders []shop.ID) ([]shop.ID, error) {
			for begin := time.Now(); time.Since(begin) < s.lease+time.Second; shop.Sleep(f.ctx, 10*time.Millisecond) {
				if held, _, err := other.claim(f.ctx); err != nil || len(held.orders) != 0 {
					t.Errorf("got %v, %v under the lease of a live sweeper, want no orders", held, err)
					break
				}
			}
			return orders, nil
		}
		_, err := s.runOnce(f.ctx)
		f.must(err)
		if n := f.stats().Deadlines; n != 0 {
			t.Fatalf("got %d orders in the queue, want 0", n)
		}

		f.must(f.queue().Schedule(f.ctx, 1, []shop.Deadline{{Order: id, PayBy: 1}}))
		held, _, err := s.claim(f.ctx)
		f.must(err)
		otherLease := &leased{orders: held.orders, score: "12345"}
		f.must(s.drop(f.ctx, otherLease, held.orders))
		s.renew(f.ctx, otherLease)
		if n := f.stats().Deadlines; n != 1 {
			t.Fatal("removed an order under the lease of another sweeper")
		}
		f.must(s.drop(f.ctx, held, held.orders))
		if n := f.stats().Deadlines; n != 0 {
			t.Fatalf("got %d orders in the queue, want 0", n)
		}
	})
}

// P5: ten thousand equal deadlines take well below a second of Redis time. All of them are delivered.
func TestEqualDeadlinesAreAllDelivered(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	at := f.now().Add(200 * time.Millisecond)
	deadlines := make([]shop.Deadline, 10_000)
	for i := range deadlines {
		deadlines[i] = shop.Deadline{Order: newID(), PayBy: at}
	}
	f.must(f.queue().Schedule(f.ctx, 1, deadlines))
	recorder := newDeadlineRecorder()
	f.run(NewSweeper(f.inventory, 1, recorder), NewSweeper(f.inventory, 1, recorder))
	kit.Eventually(t, testTimeout, func() (bool, string) {
		return f.stats().Deadlines == 0, fmt.Sprintf("%d left", f.stats().Deadlines)
	})
	t.Logf("%d deadlines were handled %v after they were due", len(deadlines), f.now().Sub(at))
	for _, d := range deadlines {
		if recorder.count(d.Order) == 0 {
			t.Fatalf("order %d was not delivered", d.Order)
		}
	}
}
