package e2e

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// A node whose clients take all its descriptors does not exit: connections wait, and are served when clients have left.
func TestNodeOutlivesTheLastDescriptor(t *testing.T) {
	t.Parallel()
	const files, clients = 256, 400
	s := newShop(t)
	n := &node{t: t, addr: kit.FreeAddress(t)}
	settings := slices.Concat(kit.NoRateLimits, s.settings, []string{
		"STAMPEDE_LISTEN=" + n.addr, "STAMPEDE_METRICS_LISTEN=off", "STAMPEDE_JWT_SECRET=" + secret,
	})
	n.Program = kit.StartProgram(t, "/bin/sh", filepath.Join(t.TempDir(), "node.log"), settings,
		"-c", `ulimit -n 256; exec "$0" serve`, binary)
	n.waitReady()
	if text := n.Text(); !strings.Contains(text, "fewer files than its sockets need") || !strings.Contains(text, "files=256") {
		t.Errorf("the log has no warning about %d files:\n%s", files, text)
	}
	var open []net.Conn
	for range clients {
		conn, err := net.DialTimeout("tcp", n.addr, 10*time.Second)
		s.must(err)
		open = append(open, conn)
	}
	const warning = "this process has no free descriptor"
	kit.Eventually(t, waitTimeout, func() (bool, string) { return strings.Contains(n.Text(), warning), n.Tail() })
	for _, conn := range open {
		s.must(conn.Close())
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) { return kit.Ready(t, n.addr), n.Tail() })
	if got := strings.Count(n.Text(), warning); got != 1 {
		t.Errorf("the warning was logged %d times, want once a minute", got)
	}
}

// A node continues when the reader of its log ends. When its terminal closes, it drains its sockets and exits.
func TestNodeOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	addr := kit.FreeAddress(t)
	ctx, cancel := context.WithCancel(kit.Context(t))
	defer cancel()
	program := exec.CommandContext(ctx, binary, "serve")
	program.Env = slices.Concat(os.Environ(), kit.NoRateLimits, s.settings, []string{
		"STAMPEDE_LISTEN=" + addr, "STAMPEDE_METRICS_LISTEN=off", "STAMPEDE_JWT_SECRET=" + secret,
	})
	log, err := program.StderrPipe()
	s.must(err)
	s.must(program.Start())
	for line := bufio.NewScanner(log); line.Scan() && !strings.Contains(line.Text(), "msg=open"); {
	}
	s.must(log.Close())
	// The restart of the subscription writes a line.
	s.must(s.redis.Do(ctx, "CLIENT", "KILL", "TYPE", "pubsub").Err())
	conn, _ := login(t, &node{t: t, addr: addr}, kit.NewID(), "")
	for range 20 {
		if !kit.Ready(t, addr) {
			t.Fatal("the node ended after the reader of its log")
		}
		s.must(sleep(ctx, 100))
	}
	s.must(program.Process.Signal(syscall.SIGHUP))
	<-conn.Done()
	if code := wsclient.CloseCode(conn.Err()); code != 4000 {
		t.Errorf("after SIGHUP the socket ended with %d, want 4000", code)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("after SIGHUP: %v, want exit code 0", err)
	}
}
