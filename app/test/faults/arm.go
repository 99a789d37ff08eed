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

// Armed is a crash point that strikes once, at its n-th pass.
type Armed struct {
	point     Point
	remaining atomic.Int64 // remaining passes; strikes at 0
	strike    func(point string)
}

// Arm parses NAME, or NAME#n for the n-th pass of the point, n ≥ 1. At that pass it calls kill, or freeze if the spec
// starts with "freeze:". An unknown name is an error that lists all points.
func Arm(spec string, kill, freeze func(point string)) (*Armed, error) {
	name, freezes := strings.CutPrefix(spec, "freeze:")
	name, times, counted := strings.Cut(name, "#")
	found := slices.IndexFunc(points, func(p Point) bool { return p.Name == name })
	if found < 0 {
		return nil, fmt.Errorf("unknown crash point %q; use one of: %s", name, strings.Join(Names(), ", "))
	}
	a := &Armed{point: points[found], strike: kill}
	if freezes {
		a.strike = freeze
	}
	pass := int64(1)
	if counted {
		var err error
		if pass, err = strconv.ParseInt(times, 10, 64); err != nil || pass < 1 {
			return nil, fmt.Errorf("pass %q of crash point %s is not a number of at least 1", times, name)
		}
	}
	a.remaining.Store(pass)
	return a, nil
}

// Fault is the [Fault] of the point. It makes every call unchanged and strikes at the armed pass.
func (a *Armed) Fault(_ context.Context, name string, call func() error) error {
	if !slices.Contains(a.point.calls, name) || !onStack(a.point.caller) {
		return call()
	}
	if a.point.when == before {
		a.pass()
		return call()
	}
	err := call()
	if err == nil {
		a.pass()
	}
	return err
}

func (a *Armed) pass() {
	if a.remaining.Add(-1) == 0 {
		a.strike(a.point.Name)
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
