package faults

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stampede/app/ports"
	"stampede/streams"
)

// errNotMade is what callers hear whose call is not made.
var errNotMade = errors.New("not made")

// methods calls every method of every port that a fault can be put before, and returns the names that the fault saw, by
// port and method.
func methods(t *testing.T) map[string]string {
	t.Helper()
	var seen string
	f := func(_ context.Context, name string, _ func() error) error {
		seen = name
		return errNotMade
	}
	found := make(map[string]string)
	for port, faulty := range map[string]any{
		"Inventory": Inventory(nil, f), "Notifier": Notifier(nil, f), "Recovery": Recovery(nil, f),
		"Orders": Orders(nil, f), "Sales": Sales(nil, f), "Payments": Payments(nil, f), "Refunds": Refunds(nil, f),
		"Gateway": Gateway(struct{ ports.Gateway }{}, f), "Outbox": Outbox(nil, f), "OutboxStream": OutboxStream(nil, f),
		"Acts": Acts(nil, f), "Editor": SaleEditor(nil, f), "Keeper": SaleKeeper(nil, f), "Shipments": Shipments(nil, f),
		"Archive": Archive(nil, f),
	} {
		v := reflect.ValueOf(faulty)
		for i := range v.NumMethod() {
			method := port + "." + v.Type().Method(i).Name
			seen = ""
			if answers := callWithNothing(v.Method(i)); seen != "" {
				found[method] = seen
				checkUnanswered(t, method, answers)
			}
		}
	}
	return found
}

// callWithNothing calls a method with zero values; nil when it panics, as those do that no fault is put before.
func callWithNothing(method reflect.Value) (answers []reflect.Value) {
	defer func() { _ = recover() }()
	args := make([]reflect.Value, method.Type().NumIn())
	for i := range args {
		args[i] = reflect.Zero(method.Type().In(i))
	}
	return method.Call(args)
}

// checkUnanswered demands the fault's error and zero values.
func checkUnanswered(t *testing.T, method string, answers []reflect.Value) {
	t.Helper()
	last := len(answers) - 1
	if err, _ := answers[last].Interface().(error); !errors.Is(err, errNotMade) {
		t.Errorf("%s returns %v, not what the fault says", method, err)
	}
	for _, v := range answers[:last] {
		if !v.IsZero() {
			t.Errorf("%s returns %v beside the error", method, v)
		}
	}
}

// A fault that hears of a call under another method's name would strike elsewhere.
func TestEachMethodIsCalledByItsName(t *testing.T) {
	t.Parallel()
	for method, seen := range methods(t) {
		if method != seen {
			t.Errorf("%s is called %s", method, seen)
		}
	}
}

// A point that matches no call never strikes. Each point has a place of its own and names known methods or scripts, and
// functions of the flows.
func TestEveryPointCanBePassed(t *testing.T) {
	t.Parallel()
	known, declared := methods(t), functionsOfFlows(t)
	for i, p := range points {
		same := func(q Point) bool {
			return q.Name == p.Name || q.when == p.when && q.of == p.of && slices.Equal(q.calls, p.calls)
		}
		if first := slices.IndexFunc(points, same); first != i {
			t.Errorf("%s and %s have the same name or place", points[first].Name, p.Name)
		}
		if !regexp.MustCompile(`^[a-z]+\.(before|after|in)-[a-z]+$`).MatchString(p.Name) {
			t.Errorf("%q is not <flow>.<where>", p.Name)
		}
		if len(p.calls) == 0 {
			t.Errorf("%s is at no call", p.Name)
		}
		for _, call := range p.calls {
			script, isScript := strings.CutPrefix(call, scriptPrefix)
			if isScript && streams.ScriptSHA(script) == "" || !isScript && known[call] == "" {
				t.Errorf("%s is at %q, before which no fault can be put", p.Name, call)
			}
		}
		if p.of != "" && !declared[p.of] {
			t.Errorf("%s is in %s, which does not exist", p.Name, p.of)
		}
	}
}

// functionsOfFlows are the functions and methods of the packages of the flows: package, dot, and the runtime's name.
func functionsOfFlows(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !strings.HasSuffix(file, "_test.go") {
				declared[tree.Name.Name+"."+receiver(f)+f.Name.Name] = true
			}
		}
	}
	return declared
}

// receiver is what stands in front of a method's name: "(*Type)." or "Type.".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	switch t := f.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if name, ok := t.X.(*ast.Ident); ok {
			return "(*" + name.Name + ")."
		}
	case *ast.Ident:
		return t.Name + "."
	}
	return ""
}
