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
// stopped and added. The order depends on the seed. Each buyer has two or three phones on different nodes. Each phone
// receives the final state of each order. The partitions are evenly distributed again after each change.
func TestManyNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowded()
	w.morePhones()
	f := &fleet{w: w}
	f.add("api", "api", "api", "api", "api", "worker", "worker", "worker", "sweeper", "sweeper")
	f.enter()
	longest := f.awaitShared()
	tr := f.trade(habits{cancels: 20, thinks: 1200})
	acts := []func() (string, *member){f.killOne, f.freezeOne, f.addOne, f.stopOne}
	for n := range *changes {
		if n%len(acts) == 0 {
			w.dice.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
		}
		what, frozen := acts[n%len(acts)]()
		longest = max(longest, f.goesOn(what))
		if frozen != nil {
			f.thaw(frozen)
			longest = max(longest, f.goesOn("thaw"))
		}
	}
	tr.end()
	f.reconnectAll()
	w.rest(f.with("api")[0].node, fmt.Sprintf("%d changes, partitions redistributed within %v,", *changes,
		longest.Round(100*time.Millisecond)))
}

// morePhones gives all buyers a second phone, and every third buyer a third one.
func (w *world) morePhones() {
	w.t.Helper()
	for i, b := range w.people {
		for len(b.phones) < 2 || i%3 == 0 && len(b.phones) < 3 {
			p := &phone{who: b, number: len(b.phones)}
			b.phones = append(b.phones, p)
			w.t.Cleanup(p.close)
		}
	}
}

// goesOn waits until the partitions are evenly distributed after a change and buys are accepted again.
func (f *fleet) goesOn(what string) (shared time.Duration) {
	f.w.t.Helper()
	f.w.t.Logf("%s", what)
	shared = f.awaitShared()
	f.w.answered(f.w.memory.answeredSoFar() + 2*len(f.w.people))
	f.healthy()
	return shared
}

// one returns a running node of a role that has at least two running nodes.
func (f *fleet) one() *member {
	f.w.t.Helper()
	for {
		role := []string{"api", "api", "worker", "sweeper"}[f.w.dice.IntN(4)]
		if found := f.with(role); len(found) > 1 {
			return found[f.w.dice.IntN(len(found))]
		}
	}
}

// killOne kills a node and waits until the others have taken over before it adds a replacement.
func (f *fleet) killOne() (string, *member) {
	m := f.one()
	m.Kill()
	f.forget(m)
	f.goesOn("killed: " + m.roles)
	f.add(m.roles)
	return "replaced: " + m.roles, nil
}

func (f *fleet) freezeOne() (string, *member) {
	m := f.one()
	f.freeze(m)
	if m.roles == "worker" {
		f.emptyHands(m)
	}
	return "frozen: " + m.roles, m
}

func (f *fleet) addOne() (string, *member) {
	role := f.one().roles
	f.add(role)
	return "added: " + role, nil
}

func (f *fleet) stopOne() (string, *member) {
	m := f.one()
	f.stop(m)
	return "stopped: " + m.roles, nil
}

// emptyHands waits until other workers have claimed the pending entries of a frozen one.
func (f *fleet) emptyHands(m *member) {
	f.w.t.Helper()
	ctx := kit.Context(f.w.t)
	number := m.Said("node")
	kit.Eventually(f.w.t, sharedWithin, func() (bool, string) {
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
