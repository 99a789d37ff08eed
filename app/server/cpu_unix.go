//go:build unix

package server

import (
	"syscall"
	"time"
)

// cpuTime is for how long this process has kept processors busy.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
