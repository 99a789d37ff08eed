package kit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dieWithParent makes the kernel send the signal to a server when the test binary dies without cleanup: on a timeout, a
// panic or kill -9.
func dieWithParent(signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal}
}

// isStopped reports whether SIGSTOP has stopped every thread of a process. A thread on another processor keeps
// running until it next enters the kernel, and may still send replies.
func isStopped(pid int) bool {
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
