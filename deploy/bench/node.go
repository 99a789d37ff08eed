package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stampede/app/load"
)

const (
	partitions   = 8
	readyTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	benchSecret  = "signs the tokens of benchmarks and no others"
	programName  = "stampede"       // the shipped build
	simpleName   = "stampede-bench" // built with the tag bench, for baselines
	simpleSwitch = "STAMPEDE_BENCH_SIMPLE=true"
)

// environ returns the environment of the round's nodes and tools.
func (b *benchShop) environ(extra ...string) []string {
	return append(append(append(os.Environ(), b.settings...),
		"STAMPEDE_REDIS_URL="+b.redisURL, "STAMPEDE_MYSQL_DSN="+b.dsn, "STAMPEDE_JWT_SECRET="+benchSecret,
		"STAMPEDE_PARTITIONS="+strconv.Itoa(partitions),
		"STAMPEDE_MAX_CONNS_PER_IP=1000000", "STAMPEDE_AUTH_RATE=0", "STAMPEDE_HANDSHAKE_RATE=0",
		// the maximum limits: buys are counted, and none is rejected
		"STAMPEDE_BUY_RATE=1000000", "STAMPEDE_BUY_BURST=1000000", "STAMPEDE_BUY_ALL_RATE=1000000",
		"STAMPEDE_BUY_ALL_BURST=1000000", "STAMPEDE_BUY_USER_RATE=1000000", "STAMPEDE_BUY_USER_BURST=1000000",
		"STAMPEDE_LIST_PER_IP=0", "STAMPEDE_AUTH_PER_IP=0", "STAMPEDE_ORDERS_PER_IP=0", "STAMPEDE_BACKLOG=10000000",
		"STAMPEDE_PAY_WINDOW=2h", "STAMPEDE_RETURN_WITHIN=0s", "STAMPEDE_LOG_LEVEL=warn"), extra...)
}

// node is a running server process.
type node struct {
	address string
	cmd     *exec.Cmd
	log     output
	ended   chan struct{}
}

// output collects the output of a server. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the text written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a program as a server and waits until it is ready, for at most readyTimeout.
func (r *runner) start(ctx context.Context, program string, extra ...string) (*node, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	n := &node{address: address, ended: make(chan struct{})}
	n.cmd = exec.Command(filepath.Join(r.bin, program), "serve")
	n.cmd.Env = r.shop.environ(append(extra, "STAMPEDE_LISTEN="+address, "STAMPEDE_METRICS_LISTEN=off")...)
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = n.cmd.Wait()
		close(n.ended)
	}()
	deadline := time.After(readyTimeout)
	for !n.ready(ctx) {
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), n.stop())
		case <-n.ended:
			return nil, fmt.Errorf("the server exited during its start:\n%s", n.log.String())
		case <-deadline:
			return nil, errors.Join(fmt.Errorf("the server is not ready after %v", readyTimeout), n.stop())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return n, nil
}

func (n *node) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.address+"/readyz", nil)
	if err != nil {
		return false
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// stop sends SIGTERM, so that the server leaves no unfinished work to the next one. After stopTimeout it kills the
// server.
func (n *node) stop() error {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(stopTimeout):
		_ = n.cmd.Process.Kill()
		<-n.ended
		return fmt.Errorf("the server had to be killed:\n%s", n.log.String())
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the server exited with %d:\n%s", code, n.log.String())
	}
	return nil
}

// load runs scenarios on the server with a generator in its own process. It stores the results under the step's name.
func (r *runner) load(
	ctx context.Context, n *node, step string, scenarios []string, args ...string,
) ([]load.Result, error) {
	arguments := []string{"load", "--json", "--target", n.address, "--pid", strconv.Itoa(n.cmd.Process.Pid)}
	for name, pid := range r.stores.pids {
		arguments = append(arguments, "--beside", fmt.Sprintf("%s=%d", name, pid))
	}
	args = append(append(arguments, args...), scenarios...)
	out, err := r.tool(ctx, args...)
	var found []load.Result
	if parse := json.Unmarshal(out, &found); parse != nil {
		return nil, fmt.Errorf("%s: %w", step, errors.Join(err, parse))
	}
	for _, result := range found {
		for _, failure := range result.Failures {
			err = errors.Join(err, errors.New(result.Scenario+": "+failure))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", step, err, tail(n.log.String()))
	}
	r.round.Steps[step] = append(r.round.Steps[step], found...)
	r.reserved += int64(found[len(found)-1].Reserved) // the last result counts all buys of this crowd
	return found, nil
}

// tool runs a command of the program on the round's stores and returns its output.
func (r *runner) tool(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, programName), args...)
	cmd.Env = r.shop.environ()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("stampede %s: %w: %s", strings.Join(args, " "), err, tail(stderr.String()))
	}
	return out, err
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func tail(s string) string { return s[max(0, len(s)-2000):] }
