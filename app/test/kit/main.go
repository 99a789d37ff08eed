package kit

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, stops the shared servers that they started, checks for leaked goroutines if all
// tests passed, and exits. Options name goroutines that may remain.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	atExit.run()
	if code == 0 {
		if err := leaked(options...); err != nil {
			fmt.Fprintf(os.Stderr, "the tests leaked goroutines: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leakTimeout is the maximum time until a goroutine must have ended. A goroutine of go-redis that dials an unreachable
// server checks once a second whether its client was closed.
const leakTimeout = 3 * time.Second

func leaked(options ...goleak.Option) error {
	for began := time.Now(); ; {
		err := goleak.Find(options...) // retries for some hundred milliseconds
		if err == nil || time.Since(began) > leakTimeout {
			return err
		}
	}
}

// atExit holds the cleanup functions that Main runs for shared servers and their folders. A test binary without Main
// leaves its folders in the temporary directory; its servers end with it (see process.go).
var atExit cleanups

type cleanups struct {
	mu    sync.Mutex
	funcs []func()
}

func (c *cleanups) add(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.funcs = append(c.funcs, f)
}

// run calls the newest function first, so that a server ends before its folder is removed.
func (c *cleanups) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.funcs) - 1; i >= 0; i-- {
		c.funcs[i]()
	}
	c.funcs = nil
}

// sharedDir creates a folder that Main removes.
func sharedDir(name string) (string, error) {
	dir, err := os.MkdirTemp("", "stampede-"+name+"-")
	if err != nil {
		return "", err
	}
	atExit.add(func() { os.RemoveAll(dir) })
	return dir, nil
}
