//go:build !linux

package kit

import "syscall"

// dieWithParent has no counterpart here: a test binary that crashes leaves its servers running.
func dieWithParent(syscall.Signal) *syscall.SysProcAttr { return nil }

// standsStill is not known here: SIGSTOP reaches all threads within a moment.
func standsStill(int) bool { return true }
