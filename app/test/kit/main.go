package kit

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, stops the shared servers that they started, looks for leaked
// goroutines if all tests passed, and exits. Options name goroutines that may stay.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	atExit.run()
	if code == 0 {
		if err := leaked(options...); err != nil {
			fmt.Fprintf(os.Stderr, "goroutines left behind by the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leavingTime is how long a goroutine may take to end: one of go-redis that dials a server that is away looks once a
// second whether its client was closed.
const leavingTime = 3 * time.Second

func leaked(options ...goleak.Option) error {
	for began := time.Now(); ; {
		err := goleak.Find(options...) // which waits for some hundred milliseconds itself
		if err == nil || time.Since(began) > leavingTime {
			return err
		}
	}
}

// atExit holds what Main undoes: shared servers and their folders. A test binary without Main
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

// run undoes the newest first: a server ends before its folder goes.
func (c *cleanups) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.funcs) - 1; i >= 0; i-- {
		c.funcs[i]()
	}
	c.funcs = nil
}

// sharedDir makes a folder that lives as long as the test binary.
func sharedDir(name string) (string, error) {
	dir, err := os.MkdirTemp("", "stampede-"+name+"-")
	if err != nil {
		return "", err
	}
	atExit.add(func() { os.RemoveAll(dir) })
	return dir, nil
}
