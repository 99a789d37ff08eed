//go:build !linux

package kit

import "syscall"

// dieWithParent does nothing here. A test binary that crashes leaves its servers running.
func dieWithParent(syscall.Signal) *syscall.SysProcAttr { return nil }

// isStopped always returns true here. SIGSTOP stops all threads within a moment.
func isStopped(int) bool { return true }
