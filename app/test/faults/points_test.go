package faults

import (
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

	"stampede/app/payment"
	"stampede/streams"
)

// A point that matches no call is never triggered. Each point must have a unique place and name existing methods,
// scripts and functions of the flows.
func TestEveryPointMatchesACall(t *testing.T) {
	t.Parallel()
	declared := functionsOfFlows(t)
	for i, p := range points {
		same := func(q Point) bool {
			return q.Name == p.Name || q.when == p.when && q.caller == p.caller && slices.Equal(q.calls, p.calls)
		}
		if first := slices.IndexFunc(points, same); first != i {
			t.Errorf("%s and %s have the same name or place", points[first].Name, p.Name)
		}
		if !regexp.MustCompile(`^[a-z]+\.(before|after|in)-[a-z]+$`).MatchString(p.Name) {
			t.Errorf("%q is not <flow>.<where>", p.Name)
		}
		if len(p.calls) == 0 {
			t.Errorf("%s has no call", p.Name)
		}
		for _, call := range p.calls {
			if !interceptable(call, declared) {
				t.Errorf("%s has the call %q, which cannot be faulted", p.Name, call)
			}
		}
		if p.caller != "" && !declared[p.caller] {
			t.Errorf("%s is called by %s, which does not exist", p.Name, p.caller)
		}
	}
}

// interceptable reports whether a fault can intercept the call.
func interceptable(call string, declared map[string]bool) bool {
	if script, is := strings.CutPrefix(call, scriptPrefix); is {
		return streams.ScriptSHA(script) != ""
	}
	if method, is := strings.CutPrefix(call, "Gateway."); is {
		_, is = reflect.TypeFor[payment.Gateway]().MethodByName(method)
		return is
	}
	return declared["store."+call] || declared["store.(*Store)."+strings.TrimPrefix(call, "Store.")]
}

// functionsOfFlows returns the functions and methods of the flow packages, as "package.Name" or "package.(*Type).Name".
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

// receiver returns the prefix of a method's name, "(*Type)." or "Type.", and "" for a function.
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
