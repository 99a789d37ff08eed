package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// soon is long enough for a delivery that is not kept waiting.
const soon = 50 * time.Millisecond

var errAway = errors.New("the receiver is away")

// receiver is a back office that is called, and answers as a test wants it to.
type receiver struct {
	f      *fixture
	stream *PaidStream
	answer func(ctx context.Context, t try) error

	mu     sync.Mutex
	marked map[app.ID]bool
	tries  map[string]int // by order and rev
	taken  []app.OutboxMessage
}

// try is a call of the receiver: the so-manieth with this posting, whose order a test may have marked.
type try struct {
	app.OutboxMessage
	number int
	marked bool
}

// newReceiver delivers the stream to it, as a node does, in quick succession, until the test ends. What was not taken
// is tried again after idle.
func newReceiver(f *fixture, idle time.Duration, answer func(ctx context.Context, t try) error) *receiver {
	r := &receiver{
		f: f, stream: NewPaidStream(f.client), answer: answer, tries: make(map[string]int),
		marked: make(map[app.ID]bool),
	}
	f.must(r.stream.Append(f.ctx, nil))
	d := NewPaidDeliverer(f.client, f.client, "webhook", "one", r.take)
	d.fresh.block, d.old.claimIdle, d.oldPause = 5*time.Millisecond, idle, time.Millisecond
	d.freshPace.shortest, d.oldPace.shortest = time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(f.ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	f.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return r
}

func (r *receiver) take(ctx context.Context, p app.OutboxMessage) error {
	key := fmt.Sprint(p.Order, "-", p.Rev)
	r.mu.Lock()
	r.tries[key]++
	t := try{p, r.tries[key], r.marked[p.Order]}
	r.mu.Unlock()
	err := r.answer(ctx, t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.taken = append(r.taken, p)
	}
	return err
}

// send appends postings of n new orders.
func (r *receiver) send(n int) []app.ID { return r.post(n, false) }

// sendMarked is send with orders that are marked.
func (r *receiver) sendMarked(n int) []app.ID { return r.post(n, true) }

func (r *receiver) post(n int, marked bool) []app.ID {
	r.f.t.Helper()
	ids, postings := make([]app.ID, n), make([]app.OutboxMessage, n)
	r.mu.Lock()
	for i := range ids {
		ids[i] = newID()
		postings[i], r.marked[ids[i]] = posting(ids[i], 2), marked
	}
	r.mu.Unlock()
	r.f.must(r.stream.Append(r.f.ctx, postings))
	return ids
}

func (r *receiver) has(order app.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.taken, func(p app.OutboxMessage) bool { return p.Order == order })
}

func (r *receiver) tried() (sum int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.tries {
		sum += n
	}
	return sum
}

func (r *receiver) awaitAll(orders []app.ID) {
	r.f.t.Helper()
	kit.Eventually(r.f.t, patience, func() (bool, string) {
		missing := 0
		for _, id := range orders {
			if !r.has(id) {
				missing++
			}
		}
		return missing == 0, fmt.Sprintf("%d of %d are not taken", missing, len(orders))
	})
}

func (r *receiver) awaitParked(n int) []app.ParkedMessage {
	r.f.t.Helper()
	var parked []app.ParkedMessage
	kit.Eventually(r.f.t, patience, func() (bool, string) {
		var err error
		parked, err = r.stream.Parked(r.f.ctx)
		r.f.must(err)
		return len(parked) == n, fmt.Sprintf("%d are parked, want %d", len(parked), n)
	})
	return parked
}

// wantPending waits until so many entries of the group are neither acknowledged nor parked.
func (r *receiver) wantPending(n int64) {
	r.f.t.Helper()
	kit.Eventually(r.f.t, patience, func() (bool, string) {
		pending, err := r.f.client.XPending(r.f.ctx, paidKey, "webhook").Result()
		r.f.must(err)
		return pending.Count == n, fmt.Sprintf("%d are pending, want %d", pending.Count, n)
	})
}

// However many entries are never taken, those behind them that failed once get their turn.
func TestUntakenHideNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(f, soon, func(_ context.Context, t try) error {
			if t.marked || t.number == 1 {
				return errAway
			}
			return nil
		})
		r.sendMarked(160)
		r.awaitAll(r.send(35))
		r.awaitAll(r.send(3)) // and what is new waits for none of them
		r.awaitParked(0)
		r.wantPending(160)
	})
}

// What a receiver refuses for good is parked with the reason, in one step with its acknowledgement, holds nothing back
// and keeps nothing from being trimmed; an operator has it sent again, or drops it.
func TestRefusedAreParked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		var mended atomic.Bool
		r := newReceiver(f, soon, func(_ context.Context, t try) error {
			if t.marked && !mended.Load() {
				return fmt.Errorf("%w: 422 no such product", app.ErrMessageRefused)
			}
			return nil
		})
		refused := r.sendMarked(160)
		r.awaitAll(r.send(35))
		parked := r.awaitParked(160)
		r.wantPending(0)
		for _, p := range parked {
			if p.Group != "webhook" || p.Deliveries < 1 || p.At == 0 || p.OutboxMessage.Address == nil ||
				!slices.Contains(refused, p.OutboxMessage.Order) ||
				p.Reason != "the receiver refuses the posting: 422 no such product" {
				t.Fatalf("%+v", p)
			}
		}
		if n, err := r.stream.CountParked(f.ctx); err != nil || n != 160 {
			t.Errorf("%d are parked, %v", n, err)
		}
		f.must(f.client.XGroupDestroy(f.ctx, paidKey, BackOfficeGroup).Err()) // nobody reads for it here
		r.stream.retention = -time.Minute
		if n, err := r.stream.trim(f.ctx); err != nil || n != 194 {
			t.Errorf("%d were trimmed, %v, want all but the last", n, err)
		}

		mended.Store(true)
		f.must(r.stream.ReplayParked(f.ctx, parked[0].ID))
		r.awaitAll([]app.ID{parked[0].OutboxMessage.Order})
		if err := r.stream.ReplayParked(f.ctx, parked[0].ID); !errors.Is(err, app.ErrNoRow) {
			t.Errorf("sent twice: %v", err)
		}
		for _, want := range []bool{true, false} {
			if there, err := r.stream.DropParked(f.ctx, parked[1].ID); err != nil || there != want {
				t.Errorf("drop: %v, %v, want %v", there, err, want)
			}
		}
		for _, id := range []string{"", "-", "1", "x-1", "1-1-1"} {
			if err := r.stream.ReplayParked(f.ctx, id); !errors.Is(err, app.ErrNoRow) {
				t.Errorf("replay %q: %v", id, err)
			}
			if there, err := r.stream.DropParked(f.ctx, id); there || err != nil {
				t.Errorf("drop %q: %v, %v", id, there, err)
			}
		}
		r.awaitParked(158)
	})
}

// Of two nodes that were refused the same entry one parks it; what is acknowledged is never parked, and what cannot be
// read can be dropped, not sent.
func TestParkedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		f.must(s.Append(f.ctx, []app.OutboxMessage{posting(newID(), 2)}))
		f.must(f.client.Do(f.ctx, "XADD", paidKey, "*", "a", "b").Err())
		o := f.office(BackOfficeGroup, "one")
		entries, err := o.fresh(f.ctx, 2)
		f.must(err)
		if len(entries) != 2 {
			t.Fatalf("%d entries", len(entries))
		}
		for _, e := range entries {
			for _, want := range []bool{true, false} {
				if did, err := s.park(f.ctx, BackOfficeGroup, e.ID, "no"); err != nil || did != want {
					t.Errorf("%v, %v, want %v", did, err, want)
				}
			}
		}
		if did, err := s.park(f.ctx, "nobody", entries[0].ID, "no"); did || err != nil {
			t.Errorf("parked for a group that is not there: %v", err)
		}
		parked, err := s.Parked(f.ctx)
		f.must(err)
		if len(parked) != 2 {
			t.Fatalf("%d are parked", len(parked))
		}
		if err := s.ReplayParked(f.ctx, parked[1].ID); !errors.Is(err, app.ErrPermanent) {
			t.Errorf("sent what cannot be read: %v", err)
		}
		if there, err := s.DropParked(f.ctx, parked[1].ID); !there || err != nil {
			t.Errorf("%v", err)
		}
	})
}

// A receiver that takes nothing now is left alone for as long as it asks, nothing is parked, and everything comes after
// it.
func TestPauseParksNothing(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	const pause = 100 * time.Millisecond
	var opened atomic.Bool
	r := newReceiver(f, soon, func(context.Context, try) error {
		if opened.Load() {
			return nil
		}
		return &app.PauseError{After: pause, Err: errors.New("429 Too Many Requests")}
	})
	began := time.Now()
	all := r.send(200)
	time.Sleep(7 * pause)
	// The first wave, and after each pause one of each queue.
	tried := r.tried() // before the time is read
	if most := freshPlaces + oldPlaces + 2*(1+int(time.Since(began)/pause)); tried > most {
		t.Errorf("tried %d times, want at most %d", tried, most)
	}
	opened.Store(true)
	r.awaitAll(all)
	r.awaitParked(0)
	r.wantPending(0)
}

// While a receiver does not answer for some orders, all others are delivered, on one node.
func TestSlowDeliveriesHoldNobodyUp(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	r := newReceiver(f, soon, func(ctx context.Context, t try) error {
		if !t.marked {
			return nil
		}
		if t.number == 1 {
			return errAway // from now on it has a place among those that were tried before
		}
		<-ctx.Done()
		return ctx.Err()
	})
	r.sendMarked(50)
	r.awaitAll(r.send(100))
	r.awaitAll(r.send(100))
}

// Of one order nothing is under way twice, and the smaller rev goes first; other orders do not wait for it.
func TestPostingsOfAnOrderKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	blocked := newID()
	let := make(chan struct{})
	r := newReceiver(f, time.Hour, func(_ context.Context, t try) error {
		if t.Order == blocked && t.Rev == 2 {
			<-let
		}
		return nil
	})
	f.must(r.stream.Append(f.ctx, []app.OutboxMessage{posting(blocked, 2), posting(blocked, 4), posting(blocked, 6)}))
	r.awaitAll(r.send(20))
	if r.has(blocked) {
		t.Error("a later rev overtook an earlier one")
	}
	close(let)
	r.wantPending(0)
	var revs []int
	for _, p := range r.taken {
		if p.Order == blocked {
			revs = append(revs, p.Rev)
		}
	}
	if want := []int{2, 4, 6}; !slices.Equal(revs, want) {
		t.Errorf("revs %v, want %v", revs, want)
	}
}

// What a node had in hand when it died is delivered by another.
func TestDeliveriesOfADeadNodeGoOn(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	r := newReceiver(f, soon, func(context.Context, try) error { return nil })
	dead := f.office("webhook", "dead")
	var ids []app.ID
	kit.Eventually(t, patience, func() (bool, string) { // until it was faster than the living one
		ids = r.send(5)
		got, err := dead.fresh(f.ctx, 16)
		f.must(err)
		return len(got) > 0, "the living node had them all"
	})
	r.awaitAll(ids)
	r.wantPending(0)
}
