//go:build crashpoints

package crashpoint

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
)

// armed is the point that kills; nil: none.
var armed atomic.Pointer[countdown]

// countdown is a point, how many passes of it are left, and what happens then.
type countdown struct {
	name   string
	left   atomic.Int64
	signal syscall.Signal // SIGKILL or SIGSTOP
}

// At kills or stops the process if this is the armed point and the armed pass.
func At(name string) {
	c := armed.Load()
	if c == nil || c.name != name || c.left.Add(-1) != 0 {
		return
	}
	fmt.Fprintln(os.Stderr, "crash point", name)
	if err := syscall.Kill(os.Getpid(), c.signal); err != nil {
		panic(fmt.Sprintf("crash point %s: %v", name, err))
	}
	if c.signal == syscall.SIGKILL {
		select {} // the signal is on its way; nothing more may happen here
	}
}

// Arm makes a point deadly: NAME, or NAME#n for its n-th pass. With freeze: in front the process stops there (SIGSTOP)
// until somebody lets it go on. An unknown name is an error.
func Arm(spec string) error {
	spec, freeze := strings.CutPrefix(spec, "freeze:")
	name, pass, err := parse(spec)
	if err != nil {
		return err
	}
	c := &countdown{name: name, signal: syscall.SIGKILL}
	if freeze {
		c.signal = syscall.SIGSTOP
	}
	c.left.Store(pass)
	armed.Store(c)
	return nil
}
