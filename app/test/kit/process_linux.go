package kit

import "syscall"

// dieWithParent lets the kernel end a server when the test binary dies without cleaning up:
// a time-out, a panic, kill -9.
func dieWithParent(with syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: with}
}
