package faults

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"stampede/app/shop"
)

// Armed is a crash point that is triggered once, at its n-th execution.
type Armed struct {
	point     Point
	remaining atomic.Int64 // remaining executions; the trigger runs at 0
	trigger   func(point string)
}

// Arm parses NAME, or NAME#n for the n-th execution of the point, n ≥ 1. At that execution the point calls kill, or
// freeze if the spec starts with "freeze:". An unknown name is an error that lists all points.
func Arm(spec string, kill, freeze func(point string)) (*Armed, error) {
	name, freezes := strings.CutPrefix(spec, "freeze:")
	name, times, counted := strings.Cut(name, "#")
	found := slices.IndexFunc(points, func(p Point) bool { return p.Name == name })
	if found < 0 {
		return nil, fmt.Errorf("unknown crash point %q; use one of: %s", name, strings.Join(Names(), ", "))
	}
	a := &Armed{point: points[found], trigger: kill}
	if freezes {
		a.trigger = freeze
	}
	execution := int64(1)
	if counted {
		var err error
		if execution, err = strconv.ParseInt(times, 10, 64); err != nil || execution < 1 {
			return nil, fmt.Errorf("execution number %q of crash point %s is invalid, want an integer of at least 1",
				times, name)
		}
	}
	a.remaining.Store(execution)
	return a, nil
}

// Fault is the [Fault] of the point. It makes every call unchanged and runs the trigger at the armed execution.
func (a *Armed) Fault(_ context.Context, name string, call func() error) error {
	if !slices.Contains(a.point.calls, name) || !onStack(a.point.caller) {
		return call()
	}
	if a.point.when == before {
		a.countExecution()
		return call()
	}
	err := call()
	if err == nil {
		a.countExecution()
	}
	return err
}

func (a *Armed) countExecution() {
	if a.remaining.Add(-1) == 0 {
		a.trigger(a.point.Name)
	}
}

// flows is the import path prefix of the packages whose functions run the flows.
var flows = strings.TrimSuffix(reflect.TypeFor[shop.Order]().PkgPath(), "shop")

// onStack reports whether the function, or a closure defined in it, is on the stack of this goroutine. It returns true
// for "". A goroutine that the function started counts only if it runs such a closure.
func onStack(function string) bool {
	if function == "" {
		return true
	}
	wanted := flows + function
	for caller := range stackFunctions() {
		if caller == wanted || strings.HasPrefix(caller, wanted+".") {
			return true
		}
	}
	return false
}
