package faults

import "context"

// Fault decides what becomes of a call, which is named "Port.Method" or "script name". It makes the call, or does not,
// and returns what the caller hears: the call's own error, or another one. Calls come from many goroutines.
type Fault func(ctx context.Context, name string, call func() error) error

// through makes a call past the fault. Whoever hears of an error gets no answer with it: a process that dies after a
// call has not seen what came of it.
func through[T any](ctx context.Context, f Fault, name string, call func() (T, error)) (T, error) {
	var answer, nothing T
	err := f(ctx, name, func() (err error) {
		answer, err = call()
		return err
	})
	if err != nil {
		return nothing, err
	}
	return answer, nil
}
