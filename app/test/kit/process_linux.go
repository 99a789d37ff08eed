package kit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dieWithParent lets the kernel end a server when the test binary dies without cleaning up:
// a time-out, a panic, kill -9.
func dieWithParent(with syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: with}
}

// standsStill reports whether SIGSTOP has reached every thread of a process: one that runs on another processor goes on
// until it enters the kernel again, and may answer meanwhile.
func standsStill(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		_, state, ok := strings.Cut(string(text), ") ") // "123 (name) T …"
		if err == nil && (!ok || state[0] != 'T') {
			return false
		}
	}
	return true
}
