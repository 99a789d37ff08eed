package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// binary is the program under test, built once, as it ships.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "stampede-e2e-")
	if err == nil {
		binary = filepath.Join(dir, "stampede")
		err = kit.Build(binary)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	kit.Main(m)
}

// patience limits each wait for a condition. It is generous: a busy machine must not fail a test.
const patience = time.Minute

const secret = "a-key-for-tests-only-0123456789abcdef"

// node is one running `stampede serve`.
type node struct {
	t       *testing.T
	addr    string
	metrics string
	cmd     *exec.Cmd
	log     *logBuffer
	ended   chan struct{}
}

// logBuffer keeps what the program says; it is written by one goroutine of os/exec and read by the test.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// launch starts the program, with limits that let a crowd of one address in, without waiting for it to be ready. Later
// settings win over earlier ones.
func launch(t *testing.T, settings ...string) *node {
	t.Helper()
	return launchShipped(t, slices.Concat(kit.Crowd, settings)...)
}

// launchShipped is launch with the limits that ship.
func launchShipped(t *testing.T, settings ...string) *node {
	t.Helper()
	n := &node{t: t, addr: freeAddr(t), metrics: freeAddr(t), log: &logBuffer{}, ended: make(chan struct{})}
	n.cmd = exec.Command(binary, "serve")
	n.cmd.Env = append(os.Environ(),
		"STAMPEDE_LISTEN="+n.addr, "STAMPEDE_METRICS_LISTEN="+n.metrics, "STAMPEDE_JWT_SECRET="+secret)
	n.cmd.Env = append(n.cmd.Env, settings...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = n.cmd.Wait()
		close(n.ended)
	}()
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", n.addr, tail(n.log.String(), 8000))
		}
	})
	return n
}

// start launches the program and waits until it is ready.
func start(t *testing.T, settings ...string) *node {
	t.Helper()
	n := launch(t, settings...)
	n.waitReady()
	return n
}

// startShipped is start with the limits that ship.
func startShipped(t *testing.T, settings ...string) *node {
	t.Helper()
	n := launchShipped(t, settings...)
	n.waitReady()
	return n
}

// in is the node for a test within the test, which fails by itself.
func (n *node) in(t *testing.T) *node {
	own := *n
	own.t = t
	return &own
}

func (n *node) waitReady() {
	n.t.Helper()
	kit.Eventually(n.t, patience, func() (bool, string) {
		select {
		case <-n.ended:
			n.t.Fatalf("the program ended:\n%s", n.log)
		default:
		}
		return kit.Ready(n.t, n.addr), "not ready: " + tail(n.log.String(), 600)
	})
}

// kill ends the program as a crash would.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

// stop ends the program in order and returns its exit code.
func (n *node) stop() int {
	n.t.Helper()
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(30 * time.Second):
		n.t.Fatalf("still running 30 s after SIGTERM:\n%s", tail(n.log.String(), 3000))
	}
	return n.cmd.ProcessState.ExitCode()
}

// run runs one command of the program to its end.
func run(t *testing.T, settings []string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(kit.Context(t), binary, args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"STAMPEDE_JWT_SECRET=" + secret}, settings)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// run runs one operators' command against the node, as an admin.
func (n *node) run(args ...string) (out string, code int) {
	n.t.Helper()
	return run(n.t, []string{
		"STAMPEDE_URL=http://" + n.addr, "STAMPEDE_TOKEN=" + issue(n.t, kit.NewID(), "Admin", app.Admin),
	}, args...)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}
