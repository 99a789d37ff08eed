package faults

import (
	"context"
	"reflect"
	"runtime"
	"strings"

	"stampede/app/store"
)

// Transactions puts a fault around each transaction of a store, see store.Store.Around. The name of a call is that of
// the store's method that the flow has called.
func Transactions(f Fault) func(ctx context.Context, call func() error) error {
	return func(ctx context.Context, call func() error) error { return f(ctx, "Store."+storeMethod(), call) }
}

var storePackage = reflect.TypeFor[store.Store]().PkgPath()

// storeMethod is the outermost method of the store among the callers, without those of other stores further out.
func storeMethod() (method string) {
	for function := range callers() {
		name, inside := strings.CutPrefix(function, storePackage+".")
		switch {
		case inside:
			if own, is := strings.CutPrefix(name, "(*Store)."); is {
				method, _, _ = strings.Cut(own, ".")
			}
		case method != "":
			return method
		}
	}
	return method
}

// deepest bounds how far up callers are looked for; a node's stacks have about forty frames.
const deepest = 256

// callers are the functions on the stack of this goroutine, the innermost first.
func callers() func(yield func(function string) bool) {
	var pcs [deepest]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	return func(yield func(string) bool) {
		for {
			frame, more := frames.Next()
			if !yield(frame.Function) || !more {
				return
			}
		}
	}
}
