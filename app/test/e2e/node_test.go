package e2e

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// binary is the path of the program under test, built once with the shipped flags.
var binary string

func TestMain(m *testing.M) { kit.MainWith(m, &binary) }

// waitTimeout limits each wait for a condition. It is long, so that a busy machine does not fail a test.
const waitTimeout = time.Minute

const secret = "a-key-for-tests-only-0123456789abcdef"

// node is one running `stampede serve`.
type node struct {
	*kit.Program
	t       *testing.T
	addr    string
	metrics string
}

// launch starts the program and does not wait until it is ready. Its limits admit a crowd from one address. Later
// settings override earlier ones.
func launch(t *testing.T, settings ...string) *node {
	t.Helper()
	return launchShipped(t, slices.Concat(kit.NoRateLimits, settings)...)
}

// launchShipped is launch with the shipped limits.
func launchShipped(t *testing.T, settings ...string) *node {
	t.Helper()
	n := &node{t: t}
	n.addr, n.metrics = kit.FreeAddress(t), kit.FreeAddress(t)
	settings = append([]string{
		"STAMPEDE_LISTEN=" + n.addr, "STAMPEDE_METRICS_LISTEN=" + n.metrics, "STAMPEDE_JWT_SECRET=" + secret,
	}, settings...)
	n.Program = kit.StartProgram(t, binary, filepath.Join(t.TempDir(), "node.log"), settings, "serve")
	return n
}

// start launches the program and waits until it is ready.
func start(t *testing.T, settings ...string) *node {
	t.Helper()
	n := launch(t, settings...)
	n.waitReady()
	return n
}

// startShipped is start with the shipped limits.
func startShipped(t *testing.T, settings ...string) *node {
	t.Helper()
	n := launchShipped(t, settings...)
	n.waitReady()
	return n
}

// withTest returns the node for a subtest, which reports its own failures.
func (n *node) withTest(t *testing.T) *node {
	own := *n
	own.t = t
	return &own
}

func (n *node) waitReady() {
	n.t.Helper()
	n.AwaitReady(n.t, waitTimeout, n.addr)
}

// stop ends the program with SIGTERM and returns its exit code.
func (n *node) stop() int {
	n.t.Helper()
	_ = n.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.Ended:
	case <-time.After(30 * time.Second):
		n.t.Fatalf("still running 30 s after SIGTERM:\n%s", n.Tail())
	}
	return n.Cmd.ProcessState.ExitCode()
}

// run runs one command of the program and returns its output and exit code.
func run(t *testing.T, settings []string, args ...string) (out string, code int) {
	t.Helper()
	return kit.RunProgram(t, binary, append([]string{"STAMPEDE_JWT_SECRET=" + secret}, settings...), args...)
}

// run runs one operator command against the node, as an admin.
func (n *node) run(args ...string) (out string, code int) {
	n.t.Helper()
	return run(n.t, []string{
		"STAMPEDE_URL=http://" + n.addr, "STAMPEDE_TOKEN=" + issue(n.t, kit.NewID(), "Admin", shop.Admin),
	}, args...)
}
