package faults

import (
	"context"
	"reflect"
	"regexp"
	"runtime"
	"strings"

	"stampede/app/store"
)

// Transactions returns a fault for Store.WrapTransaction. It applies to each transaction. The name of the call is the
// type and method that the flow called, for example "Orders.Insert".
func Transactions(f Fault) func(ctx context.Context, call func() error) error {
	return func(ctx context.Context, call func() error) error { return f(ctx, storeMethod(), call) }
}

var storePackage = reflect.TypeFor[store.Store]().PkgPath()

// storeMethod returns the outermost exported method of the innermost store on the stack.
func storeMethod() (called string) {
	for function := range stackFunctions() {
		name, inside := strings.CutPrefix(function, storePackage+".")
		if !inside && called != "" {
			return called
		}
		if parts := methodName.FindStringSubmatch(name); inside && parts != nil {
			called = parts[1] + "." + parts[2]
		}
	}
	return called
}

// methodName matches a method of an exported type, as the runtime names it: Orders.Insert or (*Store).RunOperation.
var methodName = regexp.MustCompile(`^\(?\*?([A-Z]\w*)\)?\.([A-Z]\w*)`)

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
