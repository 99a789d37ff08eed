package load

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

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
	status, err := statistics(p.PID, procfs.Proc.NewStatus)
	if err != nil {
		return 0, fmt.Errorf("memory of the %s: %w", p.Name, err)
	}
	return int64(status.VmRSS), nil
}

// statistics reads about a process.
func statistics[T any](pid int, about func(procfs.Proc) (T, error)) (T, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return *new(T), err
	}
	return about(proc)
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
	stat, err := statistics(p.PID, procfs.Proc.Stat)
	if err != nil {
		return 0, fmt.Errorf("processor time of the %s: %w", p.Name, err)
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), nil
}
