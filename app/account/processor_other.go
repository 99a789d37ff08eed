//go:build !linux

package account

import "time"

// processorTime runs work and returns its wall-clock time, because only Linux measures threads.
func processorTime(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}
