//go:build crashpoints

package crash

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stampede/app/test/kit"
)

// fleet is a shop of many nodes, each with roles of its own. One goroutine changes it; buyers ask it for doors.
type fleet struct {
	w *world

	mu    sync.Mutex
	nodes []*member // those that run, frozen ones included
}

// member is a node of a fleet.
type member struct {
	*node
	roles  string
	frozen bool // guarded by the fleet
}

// add starts nodes, one for each word, at the same time, and waits until all are ready.
func (f *fleet) add(roles ...string) []*member {
	f.w.t.Helper()
	all := make([]*member, len(roles))
	for i, r := range roles {
		all[i] = f.launch(r)
	}
	for _, m := range all {
		f.join(m)
	}
	return all
}

func (f *fleet) launch(roles string, settings ...string) *member {
	settings = append([]string{"STAMPEDE_ROLES=" + roles, "STAMPEDE_METRICS_LISTEN=127.0.0.1:0"}, settings...)
	return &member{node: f.w.launch(settings...), roles: roles}
}

// join waits until a node is ready; from then on people may come to it.
func (f *fleet) join(m *member) {
	m.waitReady()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = append(f.nodes, m)
}

// forget takes a node out that has ended.
func (f *fleet) forget(m *member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = slices.DeleteFunc(f.nodes, func(n *member) bool { return n == m })
}

// with are the nodes that have a role and run.
func (f *fleet) with(role string) []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*member
	for _, m := range f.nodes {
		if strings.Contains(m.roles, role) && !m.frozen {
			found = append(found, m)
		}
	}
	return found
}

// freeze stops a node in the middle of whatever it does; thaw lets it go on. A proxy would send nobody to a frozen one.
func (f *fleet) freeze(m *member) { f.setFrozen(m, true, m.node.freeze) }

func (f *fleet) thaw(m *member) { f.setFrozen(m, false, m.node.thaw) }

func (f *fleet) setFrozen(m *member, frozen bool, signal func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	signal()
	m.frozen = frozen
}

// stop ends a node in order, and demands that it ends well within the time that the runbook allows for it.
func (f *fleet) stop(m *member) {
	f.w.t.Helper()
	m.signal(syscall.SIGTERM)
	select {
	case <-m.Ended:
	case <-time.After(drainsWithin):
		f.w.t.Fatalf("still running %v after SIGTERM:\n%s", drainsWithin, m.Tail())
	}
	if code := m.Cmd.ProcessState.ExitCode(); code != 0 {
		f.w.t.Errorf("exit code %d after SIGTERM:\n%s", code, m.Tail())
	}
	f.forget(m)
}

// drainsWithin is what deploy/RUNBOOK.md gives a node that is stopped.
const drainsWithin = time.Minute

// healthy demands that no node has ended by itself.
func (f *fleet) healthy() {
	f.w.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.nodes {
		if m.Dead() {
			f.w.t.Fatalf("a node (%s) ended by itself:\n%s", m.roles, m.Tail())
		}
	}
}

// uneven says how the partitions are not shared out among the workers that run, "" when each has one of them: no worker
// has two more than another.
func (f *fleet) uneven() string {
	workers := f.with("worker")
	sum, least, most := 0, partitions, 0
	for _, m := range workers {
		n, err := m.attended()
		if err != nil {
			return err.Error()
		}
		sum, least, most = sum+n, min(least, n), max(most, n)
	}
	if sum != partitions || most-least > 1 {
		return fmt.Sprintf("%d workers have %d partitions in all, from %d to %d each", len(workers), sum, least, most)
	}
	return ""
}

// attended is how many partitions a worker waits on, as its metrics say.
func (m *member) attended() (int, error) {
	resp, err := kit.HTTP.Get("http://" + m.Said("metrics") + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "stampede_partitions_attended "); found {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("%s does not say how many partitions it has (%w)", m.addr, lines.Err())
}

// metric is the sum over all nodes that serve people.
func (f *fleet) metric(name string) (sum float64) {
	f.w.t.Helper()
	for _, m := range f.with("api") {
		sum += kit.Metric(f.w.t, m.Said("metrics"), name)
	}
	return sum
}

// awaitShared waits until the partitions are shared out evenly and answers how long that took.
func (f *fleet) awaitShared() time.Duration {
	f.w.t.Helper()
	began := time.Now()
	kit.Eventually(f.w.t, sharedWithin, func() (bool, string) {
		wrong := f.uneven()
		return wrong == "", wrong
	})
	return time.Since(began)
}

// sharedWithin is how long partitions may have no worker of their own after a change: a dead one counts for three
// seconds, the others look once a second; the rest is for a busy machine.
const sharedWithin = time.Minute

// opening is where a phone may go: a node that serves people, other than those on which the buyer's other phones are.
func (f *fleet) opening(p *phone) string {
	doors := f.with("api")
	free := slices.DeleteFunc(slices.Clone(doors), func(m *member) bool {
		return slices.ContainsFunc(p.who.phones, func(other *phone) bool { return other != p && other.isAt(m.addr) })
	})
	if len(free) > 0 {
		doors = free
	}
	if len(doors) == 0 {
		return ""
	}
	return doors[p.who.dice.IntN(len(doors))].addr
}

// isAt reports whether the phone has an open socket to the node.
func (p *phone) isAt(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at == addr && p.line != nil && p.line.Err() == nil
}

// enter brings each phone that has no open socket to some node.
func (f *fleet) enter() {
	f.w.t.Helper()
	f.w.everyone("enter", func(b *buyer) error {
		return retrying(func() error { return b.connectAcross(f) })
	})
}

// comeBack brings everybody in again, and lets them ask for what they do not know.
func (f *fleet) comeBack() {
	f.w.t.Helper()
	f.w.comeBackBy(func(b *buyer) error { return b.connectAcross(f) })
}

// connectAcross brings the phones of a buyer to different nodes, as far as there are enough.
func (b *buyer) connectAcross(f *fleet) error {
	for _, p := range b.phones {
		if err := p.connect(f.opening(p)); err != nil {
			return fmt.Errorf("user %s, device %d: %w", b.id, p.number, err)
		}
	}
	return nil
}

// trade lets everybody buy, wherever there is a node, until the traffic ends.
func (f *fleet) trade(h habits) *traffic {
	tr := &traffic{stop: make(chan struct{})}
	for _, b := range f.w.people {
		tr.everybody.Go(func() { b.roam(f, h, tr.stop) })
	}
	return tr
}

// roam buys on one node after the other: who loses theirs goes to another one, at the time that the node has asked for,
// and asks again there for what they do not know.
func (b *buyer) roam(f *fleet, h habits, stop <-chan struct{}) {
	h.presses = 3 // then the buyer looks whether all phones are there
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-stop:
			return
		case <-again.C:
		}
		if b.phones[0].mayCome() && b.connectAcross(f) == nil && b.retry() == nil {
			b.trade(h, stop)
		}
		again.Reset(50 * time.Millisecond)
	}
}

// mayCome reports whether the time is over for which the phone was asked to stay away.
func (p *phone) mayCome() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !time.Now().Before(p.back)
}
