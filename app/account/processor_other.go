//go:build !linux

package account

import "time"

// processorTime runs work and returns its wall-clock time: this program reads the processor time of a thread only on
// Linux.
func processorTime(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}
