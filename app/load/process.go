package load

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// Process is the server or another process on the same machine. Its name appears in figures and errors.
type Process struct {
	Name string // matches [a-z0-9_]+
	PID  int    // 0: unknown
}

// Names of the processes of every run. Other processes must have different names.
const (
	serverName    = "server"
	generatorName = "generator"
)

// resident returns the resident memory of the process in bytes.
func (p Process) resident() (int64, error) {
	status, err := statistics(p.PID, procfs.Proc.NewStatus)
	if err != nil {
		return 0, fmt.Errorf("memory of the %s: %w", p.Name, err)
	}
	return int64(status.VmRSS), nil
}

// statistics reads values of a process from /proc.
func statistics[T any](pid int, read func(procfs.Proc) (T, error)) (T, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return *new(T), err
	}
	return read(proc)
}

// processes lists the processes whose processor time is measured. They run on one machine and have unique names.
type processes []Process

// measureCPU measures the processor time of each process during the work.
func (ps processes) measureCPU(work func() error) (map[string]time.Duration, error) {
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

// cpu returns the processor time of the process since its start.
func (p Process) cpu() (time.Duration, error) {
	stat, err := statistics(p.PID, procfs.Proc.Stat)
	if err != nil {
		return 0, fmt.Errorf("processor time of the %s: %w", p.Name, err)
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), nil
}
