package faults

import (
	"context"
	"reflect"
	"runtime"
	"strings"

	"stampede/app/store"
)

// Transactions returns a fault for store.Store.Around. It applies to each transaction. The call name contains the store
// method that the flow called.
func Transactions(f Fault) func(ctx context.Context, call func() error) error {
	return func(ctx context.Context, call func() error) error { return f(ctx, "Store."+storeMethod(), call) }
}

var storePackage = reflect.TypeFor[store.Store]().PkgPath()

// storeMethod returns the outermost method of the innermost store on the stack.
func storeMethod() (method string) {
	for function := range stackFunctions() {
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

// maxDepth limits the searched stack depth. A node's stacks have about forty frames.
const maxDepth = 256

// stackFunctions iterates over the functions on the stack of this goroutine, innermost first.
func stackFunctions() func(yield func(function string) bool) {
	var pcs [maxDepth]uintptr
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
