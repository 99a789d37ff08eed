//go:build !linux

package account

import "time"

// processorTime runs work and answers how long it took: elsewhere than on Linux nobody tells threads apart.
func processorTime(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}
