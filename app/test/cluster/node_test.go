//go:build cluster

package cluster

import (
	"path/filepath"
	"slices"
	"testing"

	"stampede/app/test/kit"
)

const secret = "a-key-for-tests-only-0123456789abcdef"

// node is a process of `stampede serve`.
type node struct {
	*kit.Program
	t       *testing.T
	addr    string
	metrics string
}

// start starts a node with the roles and waits until it is ready.
func (w *world) start(name, roles string) *node {
	w.t.Helper()
	settings := slices.Concat(kit.NoRateLimits, w.settings, []string{
		"STAMPEDE_LISTEN=" + kit.FreeAddress(w.t), "STAMPEDE_METRICS_LISTEN=127.0.0.1:0", "STAMPEDE_ROLES=" + roles,
	})
	p := kit.StartProgram(w.t, binary, filepath.Join(w.t.TempDir(), name+".log"), settings, "serve")
	return &node{Program: p, t: w.t, addr: p.AwaitReady(w.t, settleTimeout, ""), metrics: p.LogField("metrics")}
}

func (n *node) metric(name string) float64 {
	n.t.Helper()
	return kit.Metric(n.t, n.metrics, name)
}

// run runs one command of the program and returns its output and exit code.
func (w *world) run(args ...string) (out string, code int) {
	w.t.Helper()
	return kit.RunProgram(w.t, binary, w.settings, args...)
}
