//go:build crashpoints

package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/test/kit"
)

const secret = "a-key-for-tests-only-0123456789abcdef"

// node is one life of `stampede serve`.
type node struct {
	t     *testing.T
	addr  string // known once it is ready
	log   string // file
	cmd   *exec.Cmd
	ended chan struct{}
}

// launch starts the program and does not wait for it. Later settings win over earlier ones.
func (w *world) launch(settings ...string) *node {
	w.t.Helper()
	w.lives++
	n := &node{t: w.t, log: filepath.Join(w.folder, fmt.Sprintf("node-%d.log", w.lives)), ended: make(chan struct{})}
	log, err := os.Create(n.log)
	w.must(err)
	defer func() { _ = log.Close() }()
	n.cmd = exec.Command(w.program, "serve")
	n.cmd.Env = slices.Concat(os.Environ(), kit.Crowd, w.settings, []string{
		"STAMPEDE_LISTEN=127.0.0.1:0", "STAMPEDE_METRICS_LISTEN=off", "STAMPEDE_JWT_SECRET=" + secret,
	}, settings)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	w.must(n.cmd.Start())
	go func() {
		_ = n.cmd.Wait() // how it ended is in its log
		close(n.ended)
	}()
	w.t.Cleanup(n.kill)
	return n
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
	kit.Eventually(n.t, healing, func() (bool, string) {
		if n.dead() {
			n.t.Fatalf("the program ended while starting:\n%s", n.tail())
		}
		n.addr = n.openAt()
		return n.addr != "" && kit.Ready(n.t, n.addr), "not ready:\n" + n.tail()
	})
}

// openAt is the address that the log names, "" before the node is open.
func (n *node) openAt() string { return n.said("address") }

// said is a word of the line with which the node says that it is open.
func (n *node) said(name string) string {
	text, _ := os.ReadFile(n.log)
	_, line, _ := strings.Cut(string(text), " msg=open ")
	_, rest, _ := strings.Cut(" "+line, " "+name+"=")
	word, _, _ := strings.Cut(rest, " ")
	return word
}

func (n *node) dead() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// waitDeath waits until the program has died at its crash point.
func (n *node) waitDeath(point string) {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(healing):
		n.t.Fatalf("crash point %s was not reached:\n%s", point, n.tail())
	}
	if text, _ := os.ReadFile(n.log); !strings.Contains(string(text), "crash point "+point) {
		n.t.Fatalf("the program ended, but not at crash point %s:\n%s", point, n.tail())
	}
}

// kill ends the program as a crash would; one that has ended stays so.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

// tail is the last 3 KB of what the program said.
func (n *node) tail() string {
	text, _ := os.ReadFile(n.log)
	return string(text[max(0, len(text)-3000):])
}
