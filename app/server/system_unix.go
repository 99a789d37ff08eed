//go:build unix

package server

import (
	"os"
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

// lock fails with EWOULDBLOCK if another process has locked the file. The lock ends with the open file, so a crash
// frees it.
func lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
