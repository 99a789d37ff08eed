package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// clusterFixture is an inventory of four partitions on a cluster, all open at testEpoch.
type clusterFixture struct {
	*fixture
	cluster *kit.RedisCluster
	redis   *redis.ClusterClient
}

func onCluster(t testing.TB, primaries int) *clusterFixture {
	t.Helper()
	c := &clusterFixture{cluster: kit.StartRedisCluster(t, primaries, 0)}
	hosts := strings.Split(strings.TrimPrefix(c.cluster.URL, "redis-cluster://"), ",")
	c.redis = redis.NewClusterClient(&redis.ClusterOptions{ // like the program
		Addrs: hosts, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second,
	})
	t.Cleanup(func() { _ = c.redis.Close() })
	c.fixture = &fixture{t: t, ctx: kit.Context(t), url: c.cluster.URL}
	l, err := New(Options{
		Client: c.redis, Namespace: c.url, Partitions: 4, OnStale: func(int) { c.stale.Add(1) },
	})
	c.must(err)
	c.inventory = l
	for p := range l.Partitions() {
		c.must(begin(c.ctx, l, p, testEpoch))
	}
	c.stale.Store(0)
	return c
}

// partitionsOn returns the partitions of a primary.
func (c *clusterFixture) partitionsOn(primary *kit.RedisServer) (partitions []int) {
	c.t.Helper()
	placed, err := Placements(c.ctx, c.redis, c.inventory.Partitions())
	c.must(err)
	for _, p := range placed {
		if strings.Contains(primary.URL, p.Primary) {
			partitions = append(partitions, p.Partition)
		}
	}
	return partitions
}

// clientOf returns a client of one server of the cluster.
func (c *clusterFixture) clientOf(primary *kit.RedisServer) *redis.Client {
	return dial(c.t, primary.URL)
}

// testShop is a sale in a partition, with a worker and a buyer who buys repeatedly.
type testShop struct {
	sale     *shop.Sale
	handler  *fakeHandler
	accepted atomic.Int64
	user     atomic.Int64
	failed   atomic.Int64 // buys with an unknown outcome
}

// startShops opens a sale in each partition and keeps buys and workers running in all of them. closeShops ends the
// buys, waits until every accepted buy has its row, and checks the sums.
func (c *clusterFixture) startShops(units int64) (shops []*testShop, closeShops func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	workerCtx, stopWorkers := context.WithCancel(c.ctx)
	g := c.gate(c.inventory)
	var buying, workers sync.WaitGroup
	for p := range c.inventory.Partitions() {
		s := &testShop{handler: newFakeHandler(), sale: c.openSale(units, func(s *shop.Sale) { s.Partition = p })}
		shops = append(shops, s)
		worker := NewConsumer(c.inventory, p, "worker", settlingHandler{s.handler, c.inventory}, ConsumerOptions{
			Block: 20 * time.Millisecond, ClaimIdle: time.Second, RetryPause: 5 * time.Millisecond,
		})
		workers.Go(func() { _ = worker.Run(workerCtx) })
		buying.Go(func() {
			for ctx.Err() == nil {
				b := buyOf(s.sale, shop.ID(1000+s.user.Add(1)), 1, "key-trade-1")
				for ctx.Err() == nil { // repeats the same buy until its outcome is known
					d, err := reserveOnce(ctx, g, b)
					if err == nil && d.Verdict == shop.VerdictReserved {
						s.accepted.Add(1)
						break
					}
					if err != nil && !errors.Is(err, shop.ErrTransient) {
						c.t.Errorf("partition %d: %v", p, err)
					}
					s.failed.Add(1)
					shop.Sleep(ctx, 5*time.Millisecond)
				}
				shop.Sleep(ctx, time.Millisecond)
			}
		})
	}
	return shops, func() {
		cancel()
		buying.Wait()
		for _, s := range shops {
			c.checkShop(s)
		}
		stopWorkers()
		workers.Wait()
	}
}

// awaitBuys waits until the shop has accepted the given number of further buys, and as many rows were written.
func (c *clusterFixture) awaitBuys(s *testShop, more int64) {
	c.t.Helper()
	accepted, rows := s.accepted.Load(), int64(s.handler.count())
	kit.Eventually(c.t, testTimeout, func() (bool, string) {
		a, r := s.accepted.Load()-accepted, int64(s.handler.count())-rows
		return a >= more && r >= more, fmt.Sprintf("partition %d: %d buys and %d rows", s.sale.Partition, a, r)
	})
}

// awaitConfirmed waits until the partition sells on its server. It confirms the history as the recovery job does.
func (c *clusterFixture) awaitConfirmed(partition int) {
	c.t.Helper()
	kit.Eventually(c.t, testTimeout, func() (bool, string) {
		s, err := c.inventory.Recovery().State(c.ctx, partition)
		if err != nil {
			return false, err.Error()
		}
		missing, err := c.inventory.Recovery().Missing(c.ctx, partition, testEpoch, nil)
		if err != nil || len(missing) > 0 || !s.Exists {
			return false, fmt.Sprintf("%+v lacks %v, %v", s, missing, err)
		}
		err = c.inventory.Recovery().Confirm(c.ctx, partition, s)
		return err == nil, fmt.Sprint(err)
	})
}

// checkShop waits until every accepted buy of the shop has its row. It checks that no buy has two rows and that the
// sums of the sale are correct.
func (c *clusterFixture) checkShop(s *testShop) {
	c.t.Helper()
	kit.Eventually(c.t, testTimeout, func() (bool, string) {
		a, err := c.inventory.Stock().Audit(c.ctx, s.sale.Ref())
		if err != nil {
			return false, err.Error()
		}
		return int64(s.handler.count()) == a.Tickets && a.Done == a.Tickets, fmt.Sprintf("%d rows, %+v", s.handler.count(),
			a.Counters)
	})
	a := c.audit(s.sale)
	// The last buy of a stopped shop may have been accepted without a reply.
	if n := s.accepted.Load(); a.Tickets != n && a.Tickets != n+1 {
		c.t.Errorf("P2: partition %d: %d buys have a result, but %d tickets were assigned", s.sale.Partition, n, a.Tickets)
	}
}

// P1, P2: one of three primaries is killed, and later paused, while all partitions sell. The partitions of the others
// never stop. Reads over all partitions neither fail nor wait for the dead primary: they name its partitions. After its
// return its partitions continue, without lost or duplicate orders.
func TestDeadPrimaryStopsOnlyItsPartitions(t *testing.T) {
	t.Parallel()
	c := onCluster(t, 3)
	shops, closeShops := c.startShops(1_000_000)
	victim := c.cluster.Primaries[1]
	dead := c.partitionsOn(victim)
	isDead := make(map[int]bool)
	for _, p := range dead {
		isDead[p] = true
	}
	if len(dead) == 0 || len(dead) == len(shops) {
		t.Fatalf("got partitions %v on the primary, want some but not all", dead)
	}
	for _, s := range shops {
		c.awaitBuys(s, 20)
	}
	for name, fault := range map[string]struct{ stop, start func() }{
		"killed primary": {victim.Kill, victim.Start},
		"paused primary": {victim.Pause, victim.Resume},
	} {
		fault.stop()
		c.wantDeadPartitions(name, shops, isDead)
		for _, s := range shops {
			if !isDead[s.sale.Partition] {
				c.awaitBuys(s, 50)
			}
		}
		c.wantUnknown(c.gate(c.inventory), buyOf(shops[dead[0]].sale, 7, 1, "key-tells-1"))
		fault.start()
		for _, p := range dead {
			c.awaitConfirmed(p)
			c.awaitBuys(shops[p], 20)
		}
		kit.Eventually(t, testTimeout, func() (bool, string) {
			_, err := c.inventory.Stock().Counters(c.ctx, refs(shops))
			return err == nil, fmt.Sprint(err)
		})
	}
	closeShops()
}

func refs(shops []*testShop) (refs []shop.SaleRef) {
	for _, s := range shops {
		refs = append(refs, s.sale.Ref())
	}
	return refs
}

// wantDeadPartitions reads over all partitions. It repeats each read until the read is correct three times in a row,
// because live servers are late on a busy machine. A correct read names only the dead partitions, and returns before a
// call to a silent server times out (serverCallTimeout).
func (c *clusterFixture) wantDeadPartitions(name string, shops []*testShop, isDead map[int]bool) {
	c.t.Helper()
	awaitCorrect := func(what string, most time.Duration, read func() error) {
		c.t.Helper()
		correct := 0
		kit.Eventually(c.t, testTimeout, func() (bool, string) {
			began := time.Now()
			err := read()
			took := time.Since(began)
			if correct++; err != nil || took > most {
				correct = 0
			}
			return correct == 3, fmt.Sprintf("%s: %s: %d correct reads in a row, want 3; %v, after %s", name, what, correct, err, took)
		})
	}
	awaitCorrect("counters", tickReplyWait+time.Second/2, func() error {
		counters, err := c.inventory.Stock().Counters(c.ctx, refs(shops))
		fault := shop.UnreachableIn(err)
		if fault == nil {
			return fmt.Errorf("no partition is unreachable: %w", err)
		}
		for i, s := range shops {
			p := s.sale.Partition
			if fault.Has(p) != isDead[p] || counters[i].Loaded == isDead[p] {
				return fmt.Errorf("partition %d: unexpected counters %+v: %w", p, counters[i], err)
			}
		}
		return nil
	})
	awaitCorrect("stream numbers", readReplyWait+time.Second, func() error {
		stats, err := c.inventory.Queue().Stats(c.ctx)
		for _, s := range stats {
			if s.Unreachable != isDead[s.Partition] {
				return fmt.Errorf("unexpected stats %+v", s)
			}
		}
		return err
	})
	awaitCorrect("ends of the sequences", readReplyWait+time.Second/2, func() error {
		ends, err := c.inventory.Sequences().SequenceEnds(c.ctx)
		for p, end := range ends {
			if end.Unreachable != isDead[p] || end.Unreachable == (end.Epoch == testEpoch) {
				return fmt.Errorf("partition %d: unexpected end %+v", p, end)
			}
		}
		return err
	})
	awaitCorrect("reservations", readReplyWait+time.Second/2, func() error {
		_, err := c.inventory.Queue().Waiting(c.ctx, 1001)
		if fault := shop.UnreachableIn(err); fault == nil || len(fault.Partitions) != len(isDead) {
			return fmt.Errorf("the error does not name the dead partitions: %w", err)
		}
		return nil
	})
	awaitCorrect("time", time.Second, func() error {
		_, err := c.inventory.Now(c.ctx)
		return err
	})
	awaitCorrect("lag", readReplyWait+time.Second/2, func() error {
		_, err := NewLagFixer(c.inventory).runOnce(c.ctx)
		return err
	})
	awaitCorrect("watchers", time.Second, func() error {
		counts := make(map[shop.SaleRef]int64)
		for _, ref := range refs(shops) {
			counts[ref] = 3
		}
		return c.inventory.Stock().SetWatching(c.ctx, "node", counts)
	})
}

// P1, P2: a slot moves key by key to another primary while buys, workers and deadlines run on it. Scripts wait for the
// end of the move, then everything continues there. Nothing is lost, duplicated or wrongly reported as lost.
func TestSlotMoveLosesNoOrder(t *testing.T) {
	t.Parallel()
	c := onCluster(t, 2)
	shops, closeShops := c.startShops(1_000_000)
	from, to := c.cluster.Primaries[0], c.cluster.Primaries[1]
	moved := c.partitionsOn(from)[0]
	s := shops[moved]
	handler := newDeadlineRecorder()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	var sweeping sync.WaitGroup
	sweeping.Go(func() { _ = NewSweeper(c.inventory, moved, handler).Run(ctx) })
	for _, s := range shops {
		c.awaitBuys(s, 20)
	}
	var deadlines []shop.Deadline
	for i := range 200 {
		due := c.now().Add(time.Duration(i) * 10 * time.Millisecond)
		deadlines = append(deadlines, shop.Deadline{Order: newID(), PayBy: due})
	}
	c.must(c.inventory.Queue().Schedule(c.ctx, moved, deadlines))

	c.moveSlot(slotOf(tagOf(c.inventory.parts[moved].keys.meta)), from, to,
		func() { c.awaitBuys(shops[c.partitionsOn(to)[0]], 3) })
	c.awaitConfirmed(moved)
	c.awaitBuys(s, 50)
	// The client reads the new slot map in the background.
	kit.Eventually(t, testTimeout, func() (bool, string) {
		placed := c.partitionsOn(to)
		return len(placed) == 3, fmt.Sprintf("partitions %v are on the new primary; want 3", placed)
	})
	kit.Eventually(t, testTimeout, func() (bool, string) {
		return handler.size() == len(deadlines), fmt.Sprintf("%d of %d deadlines", handler.size(), len(deadlines))
	})
	closeShops()
	cancel()
	sweeping.Wait()
}

// P8: a cluster may lose only the stream of e-mails. Then the postings are read for e-mails again, including
// acknowledged ones.
func TestPostingsAreReadAgainForLostEmails(t *testing.T) {
	t.Parallel()
	c := onCluster(t, 3)
	mails, paid := NewMailStream(c.redis), NewPaidStream(c.redis)
	c.must(mails.RepeatRecent(c.ctx)) // the stream does not exist yet
	c.confirmLoss(paid, 0)
	c.append(paid, posting(newID(), 2))
	r := paid.reader(c.redis, OrderMailGroup, "one", time.Hour, time.Hour)
	r.block = -1
	for range 2 {
		_, err := r.read(c.ctx, ">", 1) // creates the group
		c.must(err)
		found, err := r.read(c.ctx, ">", 1)
		c.must(err)
		if len(found) != 1 {
			t.Fatalf("%d postings were read, want 1", len(found))
		}
		c.must(r.acknowledge(c.ctx, r.group, found[0].ID))
		c.must(mails.RepeatRecent(c.ctx))
	}
}

func tagOf(key string) string {
	_, tag, _ := strings.Cut(key, "{")
	tag, _, _ = strings.Cut(tag, "}")
	return tag
}

// moveSlot moves a slot, one key at a time. It calls step after each key.
func (c *clusterFixture) moveSlot(slot int, from, to *kit.RedisServer, step func()) {
	c.t.Helper()
	source, target := c.clientOf(from), c.clientOf(to)
	id := func(r *redis.Client) string { return r.Do(c.ctx, "CLUSTER", "MYID").Val().(string) }
	host, port, _ := strings.Cut(target.Options().Addr, ":")
	c.must(target.Do(c.ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", id(source)).Err())
	c.must(source.Do(c.ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", id(target)).Err())
	keys := 0
	for {
		found, err := source.ClusterGetKeysInSlot(c.ctx, slot, 1).Result()
		c.must(err)
		if len(found) == 0 {
			break
		}
		c.must(source.Do(c.ctx, "MIGRATE", host, port, found[0], 0, testTimeout.Milliseconds()).Err())
		keys++
		step()
	}
	if keys < 4 {
		c.t.Errorf("only %d keys were moved", keys)
	}
	for _, r := range []*redis.Client{target, source} {
		c.must(r.Do(c.ctx, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", id(target)).Err())
	}
}
