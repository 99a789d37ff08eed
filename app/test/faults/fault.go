package faults

import "context"

// Fault decides what becomes of a call, which is named "Store.Method" of a transaction, "script name" or a command of
// Redis, or "Gateway.Method". It makes the call, or does not, and returns what the caller gets: the call's own error, or
// another one. Calls come from many goroutines.
type Fault func(ctx context.Context, name string, call func() error) error

type faultKey struct{}

// With returns a context whose calls meet the fault, where OfContext is in place.
func With(ctx context.Context, f Fault) context.Context { return context.WithValue(ctx, faultKey{}, f) }

// OfContext is the fault that a call's context carries; without one the call is made.
func OfContext(ctx context.Context, name string, call func() error) error {
	if f, ok := ctx.Value(faultKey{}).(Fault); ok {
		return f(ctx, name, call)
	}
	return call()
}

// through makes a call past the fault. With an error there is no answer: a process that dies after a call has not seen
// its result.
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
