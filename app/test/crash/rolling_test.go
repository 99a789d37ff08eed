//go:build crashpoints

package crash

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
)

var (
	rounds      = flag.Int("rounds", 1, "number of times that a rolling restart restarts each node")
	crowd       = flag.Int("crowd", 40, "number of shoppers during a rolling restart")
	figuresFile = flag.String("figures", "", "JSON file for the figures of a rolling restart")
)

// P2, P3, P4, P6: every node is restarted in order, one after the other, while buyers buy. No accepted buy is lost, and
// all buyers reconnect and receive the final state of each order.
func TestRollingRestartLosesNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUpCrowd()
	w.addBuyers(*crowd - len(w.buyers))
	w.morePhones()
	f := &fleet{w: w}
	f.add("api", "api", "worker", "worker", "sweeper", "sweeper")
	f.enter()
	f.awaitEvenPartitions()

	tr := f.trade(behaviour{cancelPercent: 10, maxPauseMS: 1000})
	w.awaitAccepted(w.memory.acceptedCount() + 5*len(w.buyers)**rounds)
	restartStart := w.now()
	var ended []time.Duration
	for range *rounds {
		for _, m := range slices.Clone(f.nodes) {
			ended = append(ended, f.restart(m))
			w.awaitAccepted(w.memory.acceptedCount() + len(w.buyers)/2)
		}
	}
	tr.end()
	f.reconnectAll()
	figures := w.measureRestart(restartStart, ended)
	w.awaitRest(f.with("api")[0].node, figures.String())
	if *figuresFile != "" {
		figures.save(t)
	}
}

// restart stops a node and starts it again at the same address. It returns the duration of the stop.
func (f *fleet) restart(m *member) time.Duration {
	f.w.t.Helper()
	began := time.Now()
	f.stop(m)
	took := time.Since(began)
	f.join(f.launch(m.roles, "STAMPEDE_LISTEN="+m.addr))
	f.awaitEvenPartitions()
	f.requireHealthy()
	return took
}

// now returns the time since the run began.
func (w *world) now() shop.Millis { return shop.Millis(time.Since(w.began).Milliseconds()) }

// rollingResult contains the figures of a rolling restart.
type rollingResult struct {
	Load        string   `json:"load"`  // load averages of the machine at the end, over 1, 5 and 15 minutes
	Nodes       int      `json:"nodes"` // restarts in all rounds
	People      int      `json:"people"`
	EndMS       int64    `json:"end_ms"` // longest time from SIGTERM to the exit
	Before      latency  `json:"calm"`
	Restart     latency  `json:"restart"`
	Interrupted int      `json:"interrupted"` // buys whose socket ended before the reply
	AbsenceMS   [3]int64 `json:"away_ms"`     // p50, p99 and maximum; see absences
}

// latency is the latency of buys.
type latency struct {
	Buys   int      `json:"buys"`
	Millis [3]int64 `json:"ms"` // p50, p99, maximum
}

// measureRestart computes the figures from the history. The latency of a buy includes all retries, until its outcome is
// known.
func (w *world) measureRestart(since shop.Millis, ended []time.Duration) rollingResult {
	var before, during []int64
	interrupted := 0
	first := make(map[attempt]shop.Millis)
	for _, op := range w.memory.copy().Ops {
		p := attempt{op.Sale, op.User, op.Key}
		switch _, again := first[p]; {
		case op.Kind != Buy:
			continue
		case !again:
			first[p] = op.RequestedAt
		}
		switch {
		case op.Outcome == Unknown:
			interrupted++
		case first[p] < since:
			before = append(before, int64(op.Known-first[p]))
		default:
			during = append(during, int64(op.Known-first[p]))
		}
	}
	load, _ := os.ReadFile("/proc/loadavg") // empty on systems other than Linux
	averages := strings.Fields(string(load))
	return rollingResult{
		Load:  strings.Join(averages[:min(3, len(averages))], ", "),
		Nodes: len(ended), People: len(w.buyers), EndMS: slices.Max(ended).Milliseconds(),
		Before: latency{len(before), quantiles(before)}, Restart: latency{len(during), quantiles(during)},
		Interrupted: interrupted, AbsenceMS: quantiles(w.absences.copy()),
	}
}

// quantiles returns p50, p99 and the maximum.
func quantiles(ms []int64) (q [3]int64) {
	if len(ms) == 0 {
		return q
	}
	slices.Sort(ms)
	return [3]int64{ms[len(ms)/2], ms[len(ms)*99/100], ms[len(ms)-1]}
}

// String returns the figures for the report.
func (r *rollingResult) String() string {
	return fmt.Sprintf("%d restarts, buys p99 %d ms before, %d ms during,", r.Nodes, r.Before.Millis[1], r.Restart.Millis[1])
}

func (r *rollingResult) save(t *testing.T) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(*figuresFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// absences are the times from a node's bye until its buyer is connected again, on the phone that buys.
type absences struct {
	mu sync.Mutex
	ms []int64
}

func (a *absences) add(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ms = append(a.ms, d.Milliseconds())
}

func (a *absences) copy() []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ms)
}
