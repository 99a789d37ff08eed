package kit

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 60 * time.Second // includes crash recovery of a busy MariaDB
	stopTimeout  = 30 * time.Second // then SIGKILL
)

// process is a server program with a folder and a port that do not change when it restarts. Its methods must not be
// called concurrently.
//
//	new ── start ─→ running ── kill, stop ─→ ended ── start ─→ running …
//	                running ── pause ─→ paused ── resume, kill, stop ─→ …
type process struct {
	name    string
	program string
	args    []string
	dir     string
	ready   func() error // returns nil when the server accepts requests
	// deathSignal is the signal that the program receives when the test binary dies; 0: SIGKILL.
	deathSignal syscall.Signal

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// start runs the program and waits until it is ready. It returns an error with the tail of the log if the program ends
// or does not become ready within startTimeout.
func (p *process) start() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	cmd := exec.Command(p.program, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.SysProcAttr = dieWithParent(cmp.Or(p.deathSignal, syscall.SIGKILL))
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit status of a killed server is meaningless
		close(done)
	}()
	p.cmd, p.done = cmd, done

	deadline := time.Now().Add(startTimeout)
	for {
		err := p.ready()
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("%s exited during its start:\n%s", p.name, p.logTail())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.kill()
			return fmt.Errorf("%s was not ready within %v: %w\n%s", p.name, startTimeout, err, p.logTail())
		}
	}
}

// kill ends the process with SIGKILL, like a crash. It does nothing if the process has ended.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop sends SIGTERM, and SIGKILL after stopTimeout. It also resumes a paused process.
func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.kill()
	}
}

func (p *process) signal(s syscall.Signal) error {
	if p.cmd == nil {
		return errors.New("not started")
	}
	return p.cmd.Process.Signal(s)
}

func (p *process) logFile() string { return filepath.Join(p.dir, p.name+".log") }

// logTail returns the last 2 KB of the program's output.
func (p *process) logTail() string {
	text, _ := os.ReadFile(p.logFile())
	return string(text[max(0, len(text)-2048):])
}

// findProgram searches PATH and Debian's folders for server programs, which are not on every user's PATH.
func findProgram(names ...string) (string, error) {
	for _, name := range names {
		for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
			if path, err := exec.LookPath(candidate); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s is not installed: run deploy/scripts/install.sh, or install it "+
		"(Debian: apt-get install redis-server mariadb-server nginx)", names[0])
}

// The ports of servers that tests start are below those that the kernel gives to outgoing connections, which could take
// a port between its choice and the start of its server. deploy/scripts/ports.sh uses the next ten thousand.
const firstPort, portCount = 10_000, 10_000

// lastPort is the number of the last chosen port. Each process starts at a random port.
var lastPort = func() *atomic.Uint32 {
	var n atomic.Uint32
	n.Store(rand.Uint32N(portCount))
	return &n
}()

// freePort returns a port without a listener, which no other call in this process returns soon. Another process may
// bind it before the server does. Then the start fails; onFreePort tries another port.
func freePort() (int, error) {
	for range portCount {
		port := firstPort + int(lastPort.Add(1)%portCount)
		if l, err := net.Listen("tcp4", loopback(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}

// FreeAddress returns an address of this machine with a free port for a program that a test starts.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return loopback(port)
}

// onFreePort calls start with port want. If want is 0, it tries up to three free ports.
func onFreePort(want int, start func(port int) error) error {
	if want != 0 {
		return start(want)
	}
	var err error
	for range 3 {
		port, portErr := freePort()
		if portErr != nil {
			return portErr
		}
		if err = start(port); err == nil {
			return nil
		}
	}
	return err
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// server contains the methods that [RedisServer] and [MariaDBServer] share. Only the goroutine of the test may call
// them.
type server struct {
	t testing.TB
	p *process
}

// Kill ends the server with SIGKILL, like a crash. It cannot flush anything.
func (s *server) Kill() { s.p.kill() }

// Stop shuts the server down with SIGTERM.
func (s *server) Stop() { s.p.stop() }

// Start restarts an ended server on the same port and folder. It returns when the server is ready.
func (s *server) Start() {
	s.t.Helper()
	if err := s.p.start(); err != nil {
		s.t.Fatalf("kit: %v", err)
	}
}

// Pause stops the server with SIGSTOP. Connections stay open but receive no replies. Resume continues it.
func (s *server) Pause() {
	s.t.Helper()
	s.send(syscall.SIGSTOP)
	Eventually(s.t, startTimeout, func() (bool, string) {
		return isStopped(s.p.cmd.Process.Pid), s.p.name + " still runs after SIGSTOP"
	})
}

// Resume continues a paused server.
func (s *server) Resume() { s.t.Helper(); s.send(syscall.SIGCONT) }

func (s *server) send(signal syscall.Signal) {
	s.t.Helper()
	if err := s.p.signal(signal); err != nil {
		s.t.Fatalf("kit: signal %v to %s: %v", signal, s.p.name, err)
	}
}
