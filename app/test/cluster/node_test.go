//go:build cluster

package cluster

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stampede/app/test/kit"
)

const secret = "a-key-for-tests-only-0123456789abcdef"

// node is one process of `stampede serve`.
type node struct {
	t       *testing.T
	name    string
	addr    string
	metrics string
	log     string // file
	cmd     *exec.Cmd
	ended   chan struct{}
}

// start starts a node with the roles and waits until it is ready.
func (w *world) start(name, roles string) *node {
	w.t.Helper()
	n := &node{
		t: w.t, name: name, log: filepath.Join(w.t.TempDir(), name+".log"), ended: make(chan struct{}),
	}
	log, err := os.Create(n.log)
	w.must(err)
	defer func() { _ = log.Close() }()
	n.cmd = exec.Command(binary, "serve")
	n.cmd.Env = slices.Concat(os.Environ(), kit.Crowd, w.settings, []string{
		"STAMPEDE_LISTEN=127.0.0.1:0", "STAMPEDE_METRICS_LISTEN=127.0.0.1:0", "STAMPEDE_ROLES=" + roles,
	})
	n.cmd.Stdout, n.cmd.Stderr = log, log
	w.must(n.cmd.Start())
	go func() {
		_ = n.cmd.Wait() // how it ended is in its log
		close(n.ended)
	}()
	w.t.Cleanup(func() {
		n.kill()
		if w.t.Failed() {
			w.t.Logf("log of %s:\n%s", name, n.tail())
		}
	})
	kit.Eventually(w.t, 60*time.Second, func() (bool, string) {
		select {
		case <-n.ended:
			w.t.Fatalf("%s ended while starting:\n%s", name, n.tail())
		default:
		}
		n.addr, n.metrics = n.said(" msg=open address="), n.said(" metrics=")
		return n.addr != "" && kit.Ready(w.t, n.addr), name + " is not ready:\n" + n.tail()
	})
	return n
}

// said is the word behind the mark in the line that says that the node is open; "" before.
func (n *node) said(mark string) string {
	text, _ := os.ReadFile(n.log)
	at := strings.Index(string(text), " msg=open address=")
	if at < 0 {
		return ""
	}
	_, rest, _ := strings.Cut(string(text[at:]), mark)
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// kill ends the node as a crash would; one that has ended stays so.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

func (n *node) tail() string {
	text, _ := os.ReadFile(n.log)
	return string(text[max(0, len(text)-5000):])
}

// metric is the sum over all labels.
func (n *node) metric(name string) (sum float64) {
	n.t.Helper()
	response, err := kit.HTTP.Get(fmt.Sprintf("http://%s/metrics", n.metrics))
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		n.t.Fatalf("metrics of %s: %s, %v", n.name, response.Status, err)
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			n.t.Fatalf("metric %s: %v", name, err)
		}
		sum += v
	}
	return sum
}

// run runs one command of the program to its end.
func (w *world) run(args ...string) (out string, code int) {
	w.t.Helper()
	cmd := exec.CommandContext(kit.Context(w.t), binary, args...)
	cmd.Env = slices.Concat(os.Environ(), w.settings)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}
