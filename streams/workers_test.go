package streams

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/test/kit"
)

// newWorkers returns n workers of eight partitions.
func (f *fixture) newWorkers(n int, life time.Duration) []*Workers {
	f.t.Helper()
	all := make([]*Workers, n)
	for i := range all {
		l, err := New(Options{Client: dial(f.t, f.url), Partitions: 8})
		f.must(err)
		all[i] = NewWorkers(l, fmt.Sprintf("worker-%d", i))
		all[i].life = life
	}
	return all
}

// registerAll lets each worker register and then read the names of all others.
func (f *fixture) registerAll(workers []*Workers) {
	f.t.Helper()
	for range 2 {
		for _, w := range workers {
			f.must(w.runOnce(f.ctx))
		}
	}
}

// unevenness describes an uneven assignment of eight partitions, "" if the assignment is even: each partition has one
// worker, and the workers' numbers of partitions differ by at most one.
func unevenness(workers []*Workers) string {
	least, most := 8, 0
	for _, w := range workers {
		least, most = min(least, w.OwnedPartitions()), max(most, w.OwnedPartitions())
	}
	if most-least > 1 {
		return fmt.Sprintf("one worker has %d partitions, another %d", least, most)
	}
	for p := range 8 {
		n := 0
		for _, w := range workers {
			if w.owns(p) {
				n++
			}
		}
		if n != 1 {
			return fmt.Sprintf("partition %d has %d workers", p, n)
		}
	}
	return ""
}

// Partitions are assigned evenly, and again after each worker that starts, stops or becomes silent.
func TestWorkersShareThePartitions(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		workers := f.newWorkers(5, time.Minute)
		if workers[0].OwnedPartitions() != 8 {
			t.Errorf("a worker without others has %d partitions, want all", workers[0].OwnedPartitions())
		}
		for n := 1; n <= len(workers); n++ {
			f.registerAll(workers[:n])
			if problem := unevenness(workers[:n]); problem != "" {
				t.Errorf("%d workers: %s", n, problem)
			}
		}
		_, err := workers[1].register(f.ctx, 0)
		f.must(err)
		rest := append(workers[:1:1], workers[2:]...)
		f.registerAll(rest)
		if problem := unevenness(rest); problem != "" {
			t.Errorf("after one worker left: %s", problem)
		}
		workers[4].life = time.Millisecond
		f.must(workers[4].runOnce(f.ctx)) // the last registration of a worker that stalls
		kit.Eventually(t, testTimeout, func() (bool, string) {
			f.registerAll(rest[:3])
			problem := unevenness(rest[:3])
			return problem == "", "after one worker became silent: " + problem
		})
		if !workers[0].isUnregistered("worker-4") || !workers[0].isUnregistered("worker-1") || workers[0].isUnregistered("worker-2") {
			t.Error("got wrong gone workers, want workers 1 and 4 gone and worker 2 present")
		}
	})
}

// A worker without a reply waits on all partitions after its last registration has expired, not earlier.
func TestWorkerWithoutAListOwnsAllPartitions(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	workers := f.newWorkers(2, time.Hour)
	f.registerAll(workers)
	if problem := unevenness(workers); problem != "" {
		t.Fatal(problem)
	}
	ended, cancel := context.WithCancel(f.ctx)
	cancel()
	if workers[0].runOnce(ended) == nil {
		t.Fatal("an unreachable list was read")
	}
	if n := workers[0].OwnedPartitions(); n != 4 {
		t.Errorf("%d partitions after one failed registration, want 4 as before", n)
	}
	workers[0].life = time.Millisecond
	kit.Eventually(t, testTimeout, func() (bool, string) {
		_ = workers[0].runOnce(ended)
		return workers[0].OwnedPartitions() == 8, "the worker still uses the expired list"
	})
	if workers[0].isUnregistered("worker-1") {
		t.Error("worker-1 is reported as gone without a list")
	}
}

// Entries of a stalled worker are taken over by another one within about a second.
func TestEntriesOfStalledWorkerAreTakenOver(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		stalled, other := NewWorkers(f.inventory, "a-1"), NewWorkers(f.inventory, "a-2")
		f.registerAll([]*Workers{stalled, other})
		if stalled.owns(1) == other.owns(1) {
			t.Fatal("partition 1 has two workers, or none")
		}
		if other.owns(1) {
			stalled, other = other, stalled
		}
		handler := newFakeHandler()
		c := f.consumer(other.name, handler)
		c.options.Workers = other
		f.run(c)
		f.reserveMany(s, 5)
		kit.Eventually(t, testTimeout, func() (bool, string) {
			return handler.count() == 5, fmt.Sprintf("%d of 5 rows", handler.count())
		})
	})
}

// Pending entries of a dead worker are taken over earlier than those of a live one.
func TestEntriesOfDeadWorkerAreClaimedEarlier(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(10)
	f.reserveMany(s, 3)
	for _, name := range []string{"dead", "living"} {
		_, err := f.client.XReadGroup(f.ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: name, Count: 1, Streams: []string{f.inventory.parts[1].keys.orders, ">"},
		}).Result()
		f.must(err)
	}
	living, me := NewWorkers(f.inventory, "living"), NewWorkers(f.inventory, "me")
	f.registerAll([]*Workers{living, me})
	c := f.consumer("me", newFakeHandler())
	c.options.ClaimIdle, c.options.Workers = time.Hour, me
	for _, step := range []struct {
		idle time.Duration
		want int
	}{{29 * time.Minute, 0}, {31 * time.Minute, 1}, {61 * time.Minute, 1}} {
		f.setIdle("dead", step.idle)
		f.setIdle("living", step.idle)
		if got, err := c.claim(f.ctx); err != nil || len(got) != step.want {
			t.Errorf("idle for %v: claimed %d entries (%v), want %d", step.idle, len(got), err, step.want)
		}
	}
	left, err := f.client.XPending(f.ctx, f.inventory.parts[1].keys.orders, group).Result()
	f.must(err)
	if left.Consumers["me"] != 2 || len(left.Consumers) != 1 {
		t.Errorf("got the owners %v, want 2 entries of me", left.Consumers)
	}
}

// setIdle sets the idle time of the pending entries of a consumer of partition 1.
func (f *fixture) setIdle(consumer string, idle time.Duration) {
	f.t.Helper()
	key := f.inventory.parts[1].keys.orders
	pending, err := f.client.XPendingExt(f.ctx, &redis.XPendingExtArgs{
		Stream: key, Group: group, Start: "-", End: "+", Count: 100, Consumer: consumer,
	}).Result()
	f.must(err)
	for _, p := range pending {
		f.must(f.client.Do(f.ctx, "XCLAIM", key, group, consumer, 0, p.ID, "IDLE", idle.Milliseconds(), "JUSTID").Err())
	}
}
