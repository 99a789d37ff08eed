package shop

import (
	"errors"
	"sync"
)

// Concurrently calls work once for each index below n, at most limit calls at a time, and waits for all of them. It
// returns all errors, in the order of the indexes.
func Concurrently(limit, n int, work func(i int) error) error {
	failed := make([]error, n)
	slots := make(chan struct{}, limit)
	var running sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			failed[i] = work(i)
		})
	}
	running.Wait()
	return errors.Join(failed...)
}
