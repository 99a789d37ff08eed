package snowflake

import (
	"errors"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
)

const start = epoch + 1_000_000

// fakeClock is a clock that a test sets. It has no monotonic part, so that steps are visible.
type fakeClock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *fakeClock { return &fakeClock{at: start.Time()} }

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *fakeClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *fakeClock) lease(d time.Duration) Grant {
	return Grant{Until: c.now().Add(d), Ceiling: shop.MillisOf(c.now()).Add(d)}
}

func minter(t *testing.T, node int, above shop.Millis, c *fakeClock) *Minter {
	t.Helper()
	m, err := New(node, above, shop.MillisOf(c.now()), c.now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mint(t *testing.T, m *Minter) shop.ID {
	t.Helper()
	id, err := m.Mint()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestIDCarriesTimeAndNode(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := minter(t, MaxNode, 0, c)
	m.Renew(c.lease(time.Minute))
	c.step(1234 * time.Millisecond)
	id := mint(t, m)
	if Time(id) != start+1234 || Node(id) != MaxNode || id <= 0 {
		t.Errorf("id %d: got time %d and node %d, want 1234 ms after the start and the highest node", id, Time(id), Node(id))
	}
	for _, node := range []int{-1, 0, MaxNode + 1} {
		if _, err := New(node, 0, start, c.now); err == nil {
			t.Errorf("node number %d was accepted", node)
		}
	}
}

// I10: ids increase strictly, independent of clock steps and of the number of requests.
func TestIDsIncreaseOverClockSteps(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := minter(t, 1, 0, c)
	m.Renew(Grant{Until: c.now().Add(time.Hour), Ceiling: start + 60_000})
	last := shop.ID(0)
	for _, step := range []time.Duration{
		0, time.Millisecond, -time.Hour, time.Second, time.Hour - 500*time.Millisecond,
	} {
		c.step(step)
		for range 3 * (maxSequence + 1) {
			id := mint(t, m)
			if id <= last {
				t.Fatalf("after a step of %v: got id %d, want above %d", step, id, last)
			}
			last = id
		}
	}
}

func TestIDsAreUniqueUnderConcurrency(t *testing.T) {
	t.Parallel()
	m, err := New(7, 0, start, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	m.Renew(Grant{Until: time.Now().Add(time.Hour), Ceiling: start + 3_600_000})
	const callers, perCaller = 8, 5000
	all := make([][]shop.ID, callers)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			for range perCaller {
				id, err := m.Mint()
				if err != nil {
					t.Error(err)
					return
				}
				all[i] = append(all[i], id)
			}
		})
	}
	wg.Wait()
	seen := make(map[shop.ID]bool, callers*perCaller)
	for _, ids := range all {
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("id %d was minted twice", id)
			}
			seen[id] = true
		}
	}
}

// I10: no ids are generated before a grant, after its end, or above its ceiling.
func TestMintingNeedsAGrant(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := minter(t, 1, 0, c)
	wantNoGrant := func(when string) {
		t.Helper()
		if id, err := m.Mint(); !errors.Is(err, ErrNoGrant) {
			t.Errorf("%s: got id %d, %v, want ErrNoGrant", when, id, err)
		}
	}
	wantNoGrant("before the first grant")
	m.Renew(c.lease(10 * time.Second))
	mint(t, m)
	c.step(10 * time.Second)
	wantNoGrant("at the end of the lease")
	m.Renew(c.lease(10 * time.Second))
	mint(t, m)
	m.Renew(Grant{Until: c.now().Add(time.Hour), Ceiling: start + 11_000})
	c.step(2 * time.Second)
	wantNoGrant("above the ceiling")
	c.step(-2 * time.Second)
	m.Renew(c.lease(time.Second))
	mint(t, m)
	if last := m.Stop(); last != start+10_000 {
		t.Errorf("the last millisecond is %d after the start, want 10000", last-start)
	}
	wantNoGrant("after the stop")
}

// I10: the next holder of a node number starts above all ids that its predecessor was allowed to generate, even if its
// clock is behind.
func TestNextHolderStartsAboveItsPredecessor(t *testing.T) {
	t.Parallel()
	c := newClock()
	first := minter(t, 5, 0, c)
	grant := c.lease(30 * time.Second)
	first.Renew(grant)
	c.step(29 * time.Second)
	highest := mint(t, first)
	c.step(-time.Hour)
	second := minter(t, 5, grant.Ceiling, c)
	second.Renew(Grant{Until: c.now().Add(time.Minute), Ceiling: grant.Ceiling + 60_000})
	c.step(-time.Minute) // the clock steps backwards again
	if id := mint(t, second); id <= highest || Time(id) <= grant.Ceiling {
		t.Errorf("got id %d at %d, want above id %d at %d", id, Time(id), highest, Time(highest))
	}
}
