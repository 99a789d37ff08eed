package load

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of CPU times under /proc on every Linux that Go runs on.
const ticksPerSecond = 100

// Process is the server, or a process beside it, as the kernel sees it. Its name stands in figures and errors.
type Process struct {
	Name string // [a-z0-9_]+
	PID  int    // 0: not known
}

// Names of the processes that every run knows; no other one may have them.
const (
	serverName    = "server"
	generatorName = "generator"
)

// resident is the memory of the process that is in RAM, bytes.
func (p Process) resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil {
		return 0, fmt.Errorf("memory of the %s: %w", p.Name, err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("memory of the %s: process %d has none", p.Name, p.PID)
}

// processes are those that share a machine while something is measured, each under a name of its own.
type processes []Process

// spent measures the processor time that each of the processes needs for some work.
func (ps processes) spent(work func() error) (map[string]time.Duration, error) {
	before, err := ps.cpu()
	if err != nil {
		return nil, err
	}
	if err := work(); err != nil {
		return nil, err
	}
	after, err := ps.cpu()
	for name := range after {
		after[name] -= before[name]
	}
	return after, err
}

func (ps processes) cpu() (map[string]time.Duration, error) {
	all := make(map[string]time.Duration, len(ps))
	for _, p := range ps {
		d, err := p.cpu()
		if err != nil {
			return nil, err
		}
		all[p.Name] = d
	}
	return all, nil
}

// cpu is how long the process has kept processors busy.
func (p Process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		return 0, fmt.Errorf("processor time of the %s: %w", p.Name, err)
	}
	// The name of the program stands in parentheses and may hold anything; user and system time are the twelfth and
	// thirteenth fields after it.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("processor time of the %s: %d fields", p.Name, len(fields))
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond, err
}
