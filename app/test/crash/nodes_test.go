//go:build crashpoints

package crash

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stampede/app/test/kit"
)

// P1–P6, I1, I10, I11: a shop of five API nodes, three workers and two sweepers sells while nodes are killed, frozen,
// stopped and added. The order of these changes depends on the seed. Each buyer has two or three phones on different
// nodes. Each phone receives the final state of each order. The partitions are evenly distributed again after each
// change.
func TestNodeChangesLoseNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUpCrowd()
	w.morePhones()
	f := &fleet{w: w}
	f.add("api", "api", "api", "api", "api", "worker", "worker", "worker", "sweeper", "sweeper")
	f.enter()
	maxStartTime := f.awaitEvenPartitions()
	tr := f.trade(behaviour{cancelPercent: 20, maxPauseMS: 1200})
	actions := []func() (string, *member){f.killOne, f.freezeOne, f.addOne, f.stopOne}
	for n := range *changeCount {
		if n%len(actions) == 0 {
			w.rng.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
		}
		label, frozen := actions[n%len(actions)]()
		maxStartTime = max(maxStartTime, f.awaitResumed(label))
		if frozen != nil {
			f.thaw(frozen)
			maxStartTime = max(maxStartTime, f.awaitResumed("thaw"))
		}
	}
	tr.end()
	f.reconnectAll()
	w.awaitRest(f.with("api")[0].node, fmt.Sprintf("%d changes, partitions redistributed within %v,", *changeCount,
		maxStartTime.Round(100*time.Millisecond)))
}

// morePhones gives all buyers a second phone, and every third buyer a third one.
func (w *world) morePhones() {
	w.t.Helper()
	for i, b := range w.buyers {
		for len(b.phones) < 2 || i%3 == 0 && len(b.phones) < 3 {
			p := &phone{buyer: b, number: len(b.phones)}
			b.phones = append(b.phones, p)
			w.t.Cleanup(p.close)
		}
	}
}

// awaitResumed waits until the partitions are evenly distributed after a change and buys are accepted again.
func (f *fleet) awaitResumed(label string) (elapsed time.Duration) {
	f.w.t.Helper()
	f.w.t.Logf("%s", label)
	elapsed = f.awaitEvenPartitions()
	f.w.awaitAccepted(f.w.memory.acceptedCount() + 2*len(f.w.buyers))
	f.requireHealthy()
	return elapsed
}

// randomNode returns a running node of a role that has at least two running nodes.
func (f *fleet) randomNode() *member {
	f.w.t.Helper()
	for {
		role := []string{"api", "api", "worker", "sweeper"}[f.w.rng.IntN(4)]
		if found := f.with(role); len(found) > 1 {
			return found[f.w.rng.IntN(len(found))]
		}
	}
}

// killOne kills a node, waits until the other nodes have taken over its work, and adds a replacement.
func (f *fleet) killOne() (string, *member) {
	m := f.randomNode()
	m.Kill()
	f.remove(m)
	f.awaitResumed("killed: " + m.roles)
	f.add(m.roles)
	return "replaced: " + m.roles, nil
}

func (f *fleet) freezeOne() (string, *member) {
	m := f.randomNode()
	f.freeze(m)
	if m.roles == "worker" {
		f.awaitClaimed(m)
	}
	return "frozen: " + m.roles, m
}

func (f *fleet) addOne() (string, *member) {
	role := f.randomNode().roles
	f.add(role)
	return "added: " + role, nil
}

func (f *fleet) stopOne() (string, *member) {
	m := f.randomNode()
	f.stop(m)
	return "stopped: " + m.roles, nil
}

// awaitClaimed waits until other workers have claimed the pending entries of a frozen one.
func (f *fleet) awaitClaimed(m *member) {
	f.w.t.Helper()
	ctx := kit.Context(f.w.t)
	number := m.LogField("node")
	kit.Eventually(f.w.t, distributionTimeout, func() (bool, string) {
		for p := range partitions {
			pending, err := f.w.redis.XPending(ctx, fmt.Sprintf("stampede:{%d}:orders", p), "fulfil").Result()
			if err != nil {
				return false, err.Error()
			}
			for consumer, n := range pending.Consumers {
				if strings.HasSuffix(consumer, "-"+number) {
					return false, fmt.Sprintf("partition %d: %d entries are still pending at the frozen %s, want 0", p, n, consumer)
				}
			}
		}
		return true, ""
	})
}
