//go:build crashpoints

package crashpoint

import (
	"fmt"
	"os"
	"sync/atomic"
)

// armed is the point that kills; nil: none.
var armed atomic.Pointer[countdown]

// countdown is a point and how many passes of it are left.
type countdown struct {
	name string
	left atomic.Int64
}

// At kills the process if this is the armed point and the armed pass.
func At(name string) {
	c := armed.Load()
	if c == nil || c.name != name || c.left.Add(-1) != 0 {
		return
	}
	fmt.Fprintln(os.Stderr, "crash point", name)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("crash point %s: %v", name, err))
	}
	select {} // the signal is on its way; nothing more may happen here
}

// Arm makes a point deadly: NAME, or NAME#n for its n-th pass. An unknown name is an error.
func Arm(spec string) error {
	name, pass, err := parse(spec)
	if err != nil {
		return err
	}
	c := &countdown{name: name}
	c.left.Store(pass)
	armed.Store(c)
	return nil
}
