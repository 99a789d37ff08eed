//go:build crashpoints

package crash

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/test/kit"
)

const secret = "a-key-for-tests-only-0123456789abcdef"

// node is one process of `stampede serve`.
type node struct {
	*kit.Program
	t    *testing.T
	addr string // set when the node is ready
}

// launch starts the program without waiting for it. Later settings override earlier ones.
func (w *world) launch(settings ...string) *node {
	w.t.Helper()
	w.nodesStarted++
	log := filepath.Join(w.folder, fmt.Sprintf("node-%d.log", w.nodesStarted))
	return &node{
		t: w.t,
		Program: kit.StartProgram(w.t, w.program, log, slices.Concat(kit.NoRateLimits, w.settings, []string{
			"STAMPEDE_LISTEN=" + kit.FreeAddress(w.t), "STAMPEDE_METRICS_LISTEN=off", "STAMPEDE_JWT_SECRET=" + secret,
		}, settings), "serve"),
	}
}

// start launches the program and waits until it is ready.
func (w *world) start(settings ...string) *node {
	w.t.Helper()
	n := w.launch(settings...)
	n.waitReady()
	return n
}

func (n *node) waitReady() {
	n.t.Helper()
	n.addr = n.AwaitReady(n.t, settleTimeout, "")
}

// waitDeath waits until the program has died at its crash point.
func (n *node) waitDeath(point string) {
	n.t.Helper()
	select {
	case <-n.Ended:
	case <-time.After(settleTimeout):
		n.t.Fatalf("crash point %s was not reached:\n%s", point, n.Tail())
	}
	if !strings.Contains(n.Text(), "crash point "+point) {
		n.t.Fatalf("the program exited, but not at crash point %s:\n%s", point, n.Tail())
	}
}
