package streams

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// fakeHandler is an entry handler that records its entries, and fails on demand.
type fakeHandler struct {
	mu      sync.Mutex
	rows    map[shop.ID]int // order → number of times it was fulfilled
	refused map[string]string
	fulfil  func(ctx context.Context, entries []shop.Entry) ([]error, error) // nil: outcome decides for each entry
	outcome func(e shop.Entry) error                                         // nil: success
	refuse  func(e shop.Entry) error
}

func newFakeHandler() *fakeHandler {
	return &fakeHandler{rows: make(map[shop.ID]int), refused: make(map[string]string)}
}

func (f *fakeHandler) Fulfil(ctx context.Context, entries []shop.Entry) ([]error, error) {
	outcomes := make([]error, len(entries))
	if f.fulfil != nil {
		var err error
		if outcomes, err = f.fulfil(ctx, entries); err != nil {
			return nil, err
		}
	} else if f.outcome != nil {
		for i, e := range entries {
			outcomes[i] = f.outcome(e)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, e := range entries {
		if outcomes[i] == nil {
			f.rows[e.Order]++
		}
	}
	return outcomes, nil
}

func (f *fakeHandler) Refuse(_ context.Context, e shop.Entry, reason string) error {
	if f.refuse != nil {
		if err := f.refuse(e); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused[e.StreamID] = reason
	return nil
}

func (f *fakeHandler) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rows)
}

// settlingHandler acknowledges the settled entries after the handler, as the flow does.
type settlingHandler struct {
	EntryHandler
	inventory *Inventory
}

func (s settlingHandler) Fulfil(ctx context.Context, entries []shop.Entry) ([]error, error) {
	outcomes, err := s.EntryHandler.Fulfil(ctx, entries)
	if err != nil || len(outcomes) != len(entries) {
		return outcomes, err
	}
	var done []*shop.Entry
	for i := range entries {
		if outcomes[i] == nil {
			done = append(done, &entries[i])
		}
	}
	return outcomes, s.inventory.Queue().Finish(ctx, entries[0].Partition, 0, nil, done)
}

// settle acknowledges entries of partition 1. Their rows, if any, are committed.
func (f *fixture) settle(entries ...shop.Entry) {
	f.t.Helper()
	_, err := settlingHandler{newFakeHandler(), f.inventory}.Fulfil(f.ctx, entries)
	f.must(err)
}

func (f *fixture) consumer(name string, d EntryHandler) *Consumer {
	return NewConsumer(f.inventory, 1, name, settlingHandler{d, f.inventory}, ConsumerOptions{
		Block: 20 * time.Millisecond, ClaimIdle: 300 * time.Millisecond, RetryPause: 5 * time.Millisecond,
	})
}

// delivered makes a consumer that reads only new entries, and reads one batch. batch 0: the default size.
func (f *fixture) delivered(name string, batch int64) (*Consumer, []shop.Entry) {
	f.t.Helper()
	c := f.consumer(name, newFakeHandler())
	c.pendingCursor = ""
	if batch > 0 {
		c.options.Batch = batch
	}
	entries, err := c.read(f.ctx)
	f.must(err)
	return c, entries
}

// reserveMany reserves one unit each for n users and returns the results.
func (f *fixture) reserveMany(s *shop.Sale, n int) []shop.GateResult {
	f.t.Helper()
	g := f.gate(f.inventory)
	made := make([]shop.GateResult, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			d, err := reserveUntilKnown(f.ctx, g, buyOf(s, shop.ID(5000+i), 1, "key-many-1"))
			if err != nil || d.Verdict != shop.VerdictReserved {
				f.t.Errorf("reserve %d: got %+v, %v, want a reservation", i, d, err)
			}
			made[i] = d
		})
	}
	wg.Wait()
	return made
}

func (f *fixture) counters(s *shop.Sale) shop.Counters {
	f.t.Helper()
	c, err := f.stock().Counters(f.ctx, []shop.SaleRef{s.Ref()})
	f.must(err)
	return c[0]
}

func (f *fixture) stats() StreamStats {
	f.t.Helper()
	all, err := f.queue().Stats(f.ctx)
	f.must(err)
	return all[1]
}

// run runs background jobs until stop is called, which waits for their end.
func (f *fixture) run(jobs ...interface{ Run(context.Context) error }) (stop func()) {
	ctx, cancel := context.WithCancel(f.ctx)
	var wg sync.WaitGroup
	for _, d := range jobs {
		wg.Go(func() { _ = d.Run(ctx) })
	}
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	f.t.Cleanup(stop)
	return stop
}

// I4: an entry has all values that its row needs. Settling moves done, waiting and the user's list once.
func TestSettleCountsAnEntryOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		b := buyOf(s, 4242, 2, "key-one-1")
		d := f.wantVerdict(f.gate(f.inventory), b, shop.VerdictReserved)
		waiting, err := f.queue().Waiting(f.ctx, 4242)
		f.must(err)
		if len(waiting) != 1 {
			t.Fatalf("waiting %+v, want 1 of them", waiting)
		}
		var seen shop.Entry
		handler := newFakeHandler()
		handler.outcome = func(e shop.Entry) error { seen = e; return nil }
		c := f.consumer("node-1", handler)
		f.must(c.runOnce(f.ctx)) // its own pending entries: none
		f.must(c.runOnce(f.ctx))
		want := shop.Entry{
			StreamID: seen.StreamID, Order: d.Order, Sale: s.ID, User: 4242, Partition: 1, Epoch: testEpoch, Seq: 1,
			Ticket: 1, Hold: 1, Qty: 2, PriceFen: 4990, SaleVersion: 3, Key: b.Key, Hash: b.Hash, Address: b.Address,
			ReservedAt: seen.ReservedAt,
		}
		if seen != want || seen.ReservedAt == 0 {
			t.Fatalf("entry\n%+v, want\n%+v", seen, want)
		}
		r := waiting[0]
		wantR := shop.Reservation{
			Order: d.Order, Sale: s.ID, Qty: 2, Key: b.Key, Ticket: 1, State: shop.Reserved, CreatedAt: seen.ReservedAt,
			Entry: want,
		}
		if r != wantR {
			t.Fatalf("reservation\n%+v, want\n%+v", r, wantR)
		}
		for range 2 { // the second call changes nothing
			f.settle(seen)
			if n := f.counters(s); n.Done != 1 || n.Tickets != 1 {
				t.Fatalf("done %d of %d, want 1 of 1", n.Done, n.Tickets)
			}
		}
		waiting, err = f.queue().Waiting(f.ctx, 4242)
		f.must(err)
		if st := f.stats(); len(waiting) != 0 || st.Lag != 0 || st.Pending != 0 {
			t.Fatalf("still waiting: %v, %+v, want 0 waiting, lag 0 and pending 0", waiting, st)
		}
	})
}

// I4: the same entries in two concurrent consumers, or a batch that is delivered twice, count once.
func TestEntriesOfTwoConsumersCountOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(50)
		f.reserveMany(s, 50)
		_, entries := f.delivered("node-0", 30)
		var wg sync.WaitGroup
		for i := range 6 {
			c := f.consumer(fmt.Sprintf("node-%d", i), newFakeHandler())
			wg.Go(func() {
				if err := c.process(f.ctx, entries); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if c := f.counters(s); c.Done != 30 {
			t.Fatalf("%d entries are done, want 30", c.Done)
		}
		n, err := f.client.HGet(f.ctx, f.inventory.parts[1].keys.meta, "waiting").Int()
		f.must(err)
		if n != 20 {
			t.Fatalf("%d entries wait, want 20", n)
		}
	})
}

// P2: entries of a dead consumer are claimed and settled while new entries arrive. Their delivery counts do not change.
func TestEntriesOfDeadConsumerAreClaimed(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(30)
	f.reserveMany(s, 10)
	_, entries := f.delivered("node-dead", 0)
	if len(entries) != 10 {
		t.Fatalf("read %d entries, want 10", len(entries))
	}
	handler := newFakeHandler()
	f.run(f.consumer("node-2", handler))
	g := f.gate(f.inventory)
	f.wantVerdict(g, buyOf(s, 9999, 1, "key-newcomer"), shop.VerdictReserved)
	kit.Eventually(t, testTimeout, func() (bool, string) {
		return handler.count() == 11, fmt.Sprintf("%d orders have rows", handler.count())
	})
	kit.Eventually(t, testTimeout, func() (bool, string) {
		st := f.stats()
		return st.Pending == 0 && f.counters(s).Done == 11, fmt.Sprintf("%+v", st)
	})
}

// While its handler works for long, a consumer prevents claims of its entries.
func TestClaimIsRenewed(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(30)
	f.reserveMany(s, 3)
	release := make(chan struct{})
	slow, quick := newFakeHandler(), newFakeHandler()
	slow.fulfil = func(_ context.Context, entries []shop.Entry) ([]error, error) {
		<-release
		return make([]error, len(entries)), nil
	}
	first := f.consumer("node-1", slow)
	first.pendingCursor, first.options.ClaimIdle = "", 6*time.Second // renewed every two seconds
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := first.runOnce(f.ctx); err != nil {
			t.Error(err)
		}
	})
	kit.Eventually(t, testTimeout, func() (bool, string) { return f.stats().Pending == 3, "the entries are not delivered" })
	second := f.consumer("node-2", quick)
	second.options.ClaimIdle = first.options.ClaimIdle
	begin := time.Now()
	kit.Eventually(t, testTimeout, func() (bool, string) {
		second.nextClaim = time.Time{}
		if err := second.claimIdle(f.ctx); err != nil {
			t.Error(err)
		}
		return time.Since(begin) > first.options.ClaimIdle+time.Second, "watching for claims"
	})
	close(release)
	wg.Wait()
	if quick.count() != 0 || f.counters(s).Done != 3 {
		t.Fatalf("got %d claimed entries of a live consumer and %d done", quick.count(), f.counters(s).Done)
	}
}

// Transient faults are not counted: while the database is unreachable no entry becomes a dead letter or is lost (P2).
func TestTransientFaultsAreNotCounted(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(30)
		f.reserveMany(s, 5)
		var faults atomic.Int64
		handler := newFakeHandler()
		handler.fulfil = func(_ context.Context, entries []shop.Entry) ([]error, error) {
			if faults.Add(1) <= 7 {
				return nil, fmt.Errorf("insert: %w", shop.ErrTransient)
			}
			return make([]error, len(entries)), nil
		}
		f.run(f.consumer("node-1", handler))
		kit.Eventually(t, testTimeout, func() (bool, string) {
			return f.counters(s).Done == 5, fmt.Sprintf("done %d after %d faults", f.counters(s).Done, faults.Load())
		})
		n, err := f.client.Exists(f.ctx, f.inventory.parts[1].keys.attempts).Result()
		f.must(err)
		if n != 0 || f.stats().Dead != 0 {
			t.Fatalf("got attempts %d and %+v, want no attempts and no dead letters", n, f.stats())
		}
	})
}

// A recovery happens between reading and settling. No entry of the old epoch changes the new counters, and the consumer
// continues.
func TestConsumerSurvivesRecovery(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(30)
		f.reserveMany(s, 5)
		var once sync.Once
		handler := newFakeHandler()
		handler.fulfil = func(ctx context.Context, entries []shop.Entry) ([]error, error) {
			stale := false
			once.Do(func() {
				f.close(testEpoch+1, true)
				f.must(f.recovery().Restore(ctx, testEpoch+1, shop.SaleState{Sale: s, Stock: 25, Held: 5, Tickets: 5}))
				f.open(testEpoch+1, 5, true)
				stale = true
			})
			if stale {
				return nil, fmt.Errorf("insert: %w", shop.ErrStaleEpoch)
			}
			return make([]error, len(entries)), nil
		}
		f.run(f.consumer("node-1", handler))
		kit.Eventually(t, testTimeout, func() (bool, string) {
			return f.inventory.Epoch(1) == testEpoch+1, "the partition is not recovered"
		})
		g := f.gate(f.inventory)
		f.wantVerdict(g, buyOf(s, 777, 1, "key-after-recovery"), shop.VerdictReserved)
		kit.Eventually(t, testTimeout, func() (bool, string) {
			c := f.counters(s)
			return c.Tickets == 6 && c.Done == 6, fmt.Sprintf("%+v", c)
		})
		if handler.count() != 1 {
			t.Fatalf("%d entries fulfilled under the new epoch, want 1", handler.count())
		}
	})
}

// A destroyed group is created again from the first entry. Every entry still counts once.
func TestDestroyedGroupIsRecreated(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(30)
	f.reserveMany(s, 4)
	f.run(f.consumer("node-1", newFakeHandler()))
	done := func(n int64) func() (bool, string) {
		return func() (bool, string) { c := f.counters(s); return c.Done == n, fmt.Sprintf("%+v", c) }
	}
	kit.Eventually(t, testTimeout, done(4))
	f.must(f.client.XGroupDestroy(f.ctx, f.inventory.parts[1].keys.orders, group).Err())
	f.wantVerdict(f.gate(f.inventory), buyOf(s, 777, 1, "key-afterwards"), shop.VerdictReserved)
	kit.Eventually(t, testTimeout, done(5))
	if c := f.counters(s); c.Done > c.Tickets {
		t.Fatalf("got %d done of %d tickets", c.Done, c.Tickets)
	}
}

// I7: a missing stream is reported as lost, and no empty stream replaces it.
func TestLostStreamIsNotRecreated(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	key := f.inventory.parts[1].keys.orders
	f.must(f.client.Del(f.ctx, key).Err())
	f.run(f.consumer("node-1", newFakeHandler()))
	kit.Eventually(t, testTimeout, func() (bool, string) { return f.stale.Load() > 0, "OnStale was not called" })
	if n, err := f.client.Exists(f.ctx, key).Result(); n != 0 || err != nil {
		t.Fatalf("got %d streams, %v, want the lost stream to stay absent", n, err)
	}
	if st, err := f.recovery().State(f.ctx, 1); err != nil || st.Exists {
		t.Fatalf("got state %+v, %v, want an absent partition", st, err)
	}
}

// A consumer leaves the group when it ends. The consumer of a killed worker is deleted after a while, unless pending
// entries would be lost.
func TestConsumersWithPendingEntriesStay(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(30)
		f.reserveMany(s, 2)
		key := f.inventory.parts[1].keys.orders
		leave := func(name string) int64 {
			reply, err := leaveScript.run(f.ctx, f.client, []string{key}, group, name)
			f.must(err)
			return integer(reply[0])
		}
		c, entries := f.delivered("node-1", 0)
		f.must(f.client.XGroupCreateConsumer(f.ctx, key, group, "killed").Err())
		trim := func(retention time.Duration, want ...string) {
			t.Helper()
			_, err := (&Trimmer{
				conn: f.inventory.connection, allowed: always, retention: retention,
				maxLength: 100,
			}).runOnce(f.ctx)
			f.must(err)
			if got := f.consumers(key, group); !slices.Equal(got, want) {
				t.Fatalf("got consumers %v, want %v", got, want)
			}
		}
		trim(time.Hour, "killed", "node-1")
		trim(-time.Minute, "node-1") // it has pending entries
		if leave("node-1") != 0 || f.stats().Pending != 2 {
			t.Fatalf("leave succeeded with pending entries: %+v", f.stats())
		}
		f.must(c.process(f.ctx, entries))
		if leave("node-1") != 1 {
			t.Fatal("leave failed without pending entries")
		}
		f.must(f.client.Del(f.ctx, key).Err())
		if leave("node-1") != 0 {
			t.Fatal("leave succeeded for an absent consumer")
		}
	})
}

// consumers returns the names of a group's consumers, sorted.
func (f *fixture) consumers(stream, group string) (names []string) {
	f.t.Helper()
	all, err := f.client.XInfoConsumers(f.ctx, stream, group).Result()
	f.must(err)
	for _, c := range all {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}
