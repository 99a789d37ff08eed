package realtime

import (
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// Watchers may leave while a tick waits for writers to start. All remaining watchers receive the tick.
func TestTickReachesAllWatchersWhileOthersLeave(t *testing.T) {
	t.Parallel()
	hub, set := manyClients(5)
	for i, c := range set.members {
		c.set, c.index = set, i
	}
	first, last := set.members[0], set.members[4]
	hub.starting.Store(maxStarting + 1)
	b := newLineTable()
	b.update([]shop.Counters{counters(11, 1)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		set.queueTick(b, 1, hub.metrics)
	}()
	has := func(c *client) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.out.tick != nil
	}
	kit.Eventually(t, testTimeout, func() (bool, string) { return has(last), "waiting for the tick" })
	set.remove(first)
	if has(set.members[1]) {
		t.Error("the tick continued although too many writers wait to start")
	}
	hub.starting.Store(0)
	<-done
	for i, c := range set.members {
		if !has(c) {
			t.Errorf("watcher %d of %d did not get the tick", i, len(set.members))
		}
	}
}
