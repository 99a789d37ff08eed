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

// fleet is a shop of many nodes with different roles. One goroutine changes it; buyers read it concurrently.
type fleet struct {
	w *world

	mu    sync.Mutex
	nodes []*member // running nodes, including frozen ones
}

// member is a node of a fleet.
type member struct {
	*node
	roles  string
	frozen bool // protected by fleet.mu
}

// add starts one node per argument concurrently and waits until all are ready.
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

// join waits until a node is ready and adds it to the nodes that phones may connect to.
func (f *fleet) join(m *member) {
	m.waitReady()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = append(f.nodes, m)
}

// remove removes a node that has ended.
func (f *fleet) remove(m *member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = slices.DeleteFunc(f.nodes, func(n *member) bool { return n == m })
}

// with returns the nodes with the role that are not frozen.
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

// freeze stops a node with SIGSTOP; thaw continues it. Phones do not connect to a frozen node, as behind a proxy.
func (f *fleet) freeze(m *member) { f.setFrozen(m, true, m.node.freeze) }

func (f *fleet) thaw(m *member) { f.setFrozen(m, false, m.node.thaw) }

func (f *fleet) setFrozen(m *member, frozen bool, signal func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	signal()
	m.frozen = frozen
}

// stop sends SIGTERM and requires exit status 0 within stopTimeout.
func (f *fleet) stop(m *member) {
	f.w.t.Helper()
	m.signal(syscall.SIGTERM)
	select {
	case <-m.Ended:
	case <-time.After(stopTimeout):
		f.w.t.Fatalf("still running %v after SIGTERM:\n%s", stopTimeout, m.Tail())
	}
	if code := m.Cmd.ProcessState.ExitCode(); code != 0 {
		f.w.t.Errorf("exit code %d after SIGTERM:\n%s", code, m.Tail())
	}
	f.remove(m)
}

// stopTimeout is the time that deploy/RUNBOOK.md gives a node to stop.
const stopTimeout = time.Minute

// requireHealthy requires that no node has ended without a request.
func (f *fleet) requireHealthy() {
	f.w.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.nodes {
		if m.Exited() {
			f.w.t.Fatalf("a node (%s) exited unexpectedly:\n%s", m.roles, m.Tail())
		}
	}
}

// distributionProblem returns how the partitions are distributed if a worker has two more than another, or if not every
// partition has exactly one worker; otherwise "".
func (f *fleet) distributionProblem() string {
	workers := f.with("worker")
	sum, least, most := 0, partitions, 0
	for _, m := range workers {
		n, err := m.assignedPartitions()
		if err != nil {
			return err.Error()
		}
		sum, least, most = sum+n, min(least, n), max(most, n)
	}
	if sum != partitions || most-least > 1 {
		return fmt.Sprintf("%d workers have %d partitions in total, from %d to %d each", len(workers), sum, least, most)
	}
	return ""
}

// assignedPartitions returns the number of partitions of a worker, from its metrics.
func (m *member) assignedPartitions() (int, error) {
	resp, err := kit.HTTP.Get("http://" + m.LogField("metrics") + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "stampede_partitions_owned "); found {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("%s does not report stampede_partitions_owned (%w)", m.addr, lines.Err())
}

// metric returns the sum over all running API nodes.
func (f *fleet) metric(name string) (sum float64) {
	f.w.t.Helper()
	for _, m := range f.with("api") {
		sum += kit.Metric(f.w.t, m.LogField("metrics"), name)
	}
	return sum
}

// awaitEvenPartitions waits until the partitions are evenly distributed and returns how long that took.
func (f *fleet) awaitEvenPartitions() time.Duration {
	f.w.t.Helper()
	began := time.Now()
	kit.Eventually(f.w.t, distributionTimeout, func() (bool, string) {
		wrong := f.distributionProblem()
		return wrong == "", wrong
	})
	return time.Since(began)
}

// distributionTimeout limits the time without an even distribution after a change. A dead worker counts for three
// seconds, and the others check once a second; the remaining time is a reserve for a busy machine.
const distributionTimeout = time.Minute

// chooseNode returns an API node for a phone. It prefers nodes without another phone of the buyer.
func (f *fleet) chooseNode(p *phone) string {
	candidates := f.with("api")
	free := slices.DeleteFunc(slices.Clone(candidates), func(m *member) bool {
		return slices.ContainsFunc(p.buyer.phones,
			func(other *phone) bool { return other != p && other.connectedTo(m.addr) })
	})
	if len(free) > 0 {
		candidates = free
	}
	if len(candidates) == 0 {
		return ""
	}
	return candidates[p.buyer.rng.IntN(len(candidates))].addr
}

// connectedTo reports whether the phone has an open socket to the node.
func (p *phone) connectedTo(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodeAddr == addr && p.conn != nil && p.conn.Err() == nil
}

// enter connects each phone without an open socket to a node.
func (f *fleet) enter() {
	f.w.t.Helper()
	f.w.forAllBuyers("enter", func(b *buyer) error {
		return retryUntilSuccess(func() error { return b.connectAcross(f) })
	})
}

// reconnectAll reconnects all buyers and lets them retry buys with an unknown outcome.
func (f *fleet) reconnectAll() {
	f.w.t.Helper()
	f.w.reconnectWith(func(b *buyer) error { return b.connectAcross(f) })
}

// connectAcross connects the phones of a buyer to different nodes, if there are enough.
func (b *buyer) connectAcross(f *fleet) error {
	for _, p := range b.phones {
		if err := p.connect(f.chooseNode(p)); err != nil {
			return fmt.Errorf("user %s, device %d: %w", b.id, p.number, err)
		}
	}
	return nil
}

// trade lets all buyers buy on any node until the traffic ends.
func (f *fleet) trade(h behaviour) *traffic {
	tr := &traffic{stop: make(chan struct{})}
	for _, b := range f.w.buyers {
		tr.running.Go(func() { b.tradeAcrossNodes(f, h, tr.stop) })
	}
	return tr
}

// tradeAcrossNodes buys on one node after the other. When a buyer loses a node, the buyer waits for retry_ms, connects
// to another node and retries buys with an unknown outcome there.
func (b *buyer) tradeAcrossNodes(f *fleet, h behaviour, stop <-chan struct{}) {
	h.attempts = 3 // then the buyer reconnects lost phones
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-stop:
			return
		case <-again.C:
		}
		if b.phones[0].mayReconnect() && b.connectAcross(f) == nil && b.retry() == nil {
			b.trade(h, stop)
		}
		again.Reset(50 * time.Millisecond)
	}
}

// mayReconnect reports whether the retry_ms of the last bye has passed.
func (p *phone) mayReconnect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !time.Now().Before(p.reconnectAt)
}
