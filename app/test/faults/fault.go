package faults

import "context"

// Fault decides the outcome of a call. The name of a call is "Type.Method" of package store for a transaction, "script
// name" or a command for Redis, and "Gateway.Method" for the gateway. A Fault makes the call or skips it, and returns the error
// for the caller. It must be safe for concurrent use.
type Fault func(ctx context.Context, name string, call func() error) error

type faultKey struct{}

// With returns a context with the fault. OfContext passes calls with this context to the fault.
func With(ctx context.Context, f Fault) context.Context { return context.WithValue(ctx, faultKey{}, f) }

// OfContext passes the call to the fault in the context. Without a fault it makes the call.
func OfContext(ctx context.Context, name string, call func() error) error {
	if f, ok := ctx.Value(faultKey{}).(Fault); ok {
		return f(ctx, name, call)
	}
	return call()
}

// callWith passes a call to the fault. On an error it drops the result: a process that dies after a call never gets its
// result.
func callWith[T any](ctx context.Context, f Fault, name string, call func() (T, error)) (T, error) {
	var result, zero T
	err := f(ctx, name, func() (err error) {
		result, err = call()
		return err
	})
	if err != nil {
		return zero, err
	}
	return result, nil
}
