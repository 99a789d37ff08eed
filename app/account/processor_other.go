//go:build !linux

package account

import "time"

// processorTime runs work and returns the time that it took: thread times exist on Linux only.
func processorTime(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}
