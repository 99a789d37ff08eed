package main

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path of the module to which the rules apply.
const module = "stampede"

// layer contains the permitted imports of a package and of the packages below it.
type layer struct {
	path       string   // below the module
	imports    []string // of this module; a path includes the packages below it
	thirdParty bool     // may import third-party modules
	inTests    []string // of this module, in tests only
}

// flows are the packages of shoppers' operations, in import order: each may import the packages before it and the
// standard library. Their tests may use doubles that inject faults.
var flows = []string{
	"app/trace", "app/shop", "app/journal", "app/outbox", "app/catalog", "app/admission", "app/board", "app/order",
	"app/payment",
}

// core lists the flows, the two stores, and the packages that work directly on them, in import order.
var core = append(slices.Clone(flows), "app/store", "streams", "app/recovery", "app/privacy", "app/backoffice")

// layers is the import rule: imports point to the left,
//
//	flows ← {store, streams} ← recovery ← privacy ← backoffice ← {api, picture, demo, …} ← server ← cmd
//	flows ← {realtime, alipay, mail, webhook, …} ← server
//	flows ← limits ← {api, account, realtime}
//
// streams and realtime never import each other. Commands reach the packages only through the server, so that there is
// one composition root. Commands start the simulated gateway themselves, because the gateway is not part of a server.
// If several layers match a package, the longest path applies.
var layers = append(coreLayers(),
	layer{path: "app"},
	layer{
		path: "realtime", imports: append(slices.Clone(flows), "app/limits"), thirdParty: true,
		inTests: []string{"app/wsclient"},
	},
	layer{path: "frontend"},
	layer{path: "migrations", thirdParty: true, inTests: []string{"app/store"}},
	layer{
		path: "app/account", imports: append(slices.Clone(flows), "app/limits", "app/store"), thirdParty: true,
		inTests: []string{"app/test/faults", "migrations"},
	},
	layer{path: "app/alipay", imports: flows, thirdParty: true},
	layer{path: "app/snowflake", imports: flows},
	layer{path: "app/api/spec"},
	layer{path: "app/picture", imports: core, thirdParty: true},
	layer{path: "app/markup", thirdParty: true},
	layer{path: "app/trace/export", imports: flows, thirdParty: true},
	layer{path: "app/limits", imports: flows, thirdParty: true},
	layer{
		path: "app/api", imports: with("app/account", "app/limits"), thirdParty: true,
		inTests: []string{"app/markup", "app/picture", "app/store", "migrations", "streams"},
	},
	layer{path: "app/load", imports: with("app/wsclient"), thirdParty: true},
	layer{path: "deploy/bench", imports: with("app/load", "app/alipay/sim"), thirdParty: true},
	layer{path: "app/webhook", imports: flows},
	layer{path: "app/mail", imports: flows, thirdParty: true},
	layer{path: "app/demo", imports: with("app/wsclient"), thirdParty: true},
	// the client end of the socket: no server imports it
	layer{path: "app/wsclient", imports: flows, thirdParty: true},
	layer{
		path: "app/server", thirdParty: true, inTests: []string{"app/test/faults"},
		imports: with(
			"app/account", "app/api", "app/alipay", "app/demo", "app/limits", "app/mail", "app/markup",
			"app/picture", "app/trace/export", "app/webhook", "realtime", "frontend", "migrations",
		),
	},
	layer{
		path: "app/cmd", thirdParty: true,
		imports: with(
			"app/account", "app/server", "app/load", "app/demo", "app/wsclient", "app/alipay/sim", "migrations",
		),
	},
	layer{path: testSupport, imports: append(slices.Clone(flows), "app/store", "migrations"), thirdParty: true},
	layer{path: doubles, imports: []string{"app/trace", "app/shop", "app/journal"}},
	layer{path: "app/test/kit/contract", imports: with("app/api/spec"), thirdParty: true},
	layer{path: "app/test/kit/asyncapi", imports: []string{"app/wsclient"}, thirdParty: true, inTests: []string{"realtime"}},
	// the program imports it only with the tag crashpoints, which this check does not set
	layer{path: "app/test/faults", imports: append(slices.Clone(flows), "app/store", "streams"), thirdParty: true},
	layer{path: "app/test/attack", imports: with("app/wsclient"), thirdParty: true},
	layer{
		path: "app/test/e2e", thirdParty: true, // prepares shops with these imports, tests the program from outside
		imports: with(
			"app/account", "app/alipay/sim", "app/test/attack", "app/wsclient", "realtime", "migrations",
		),
	},
	layer{
		path: "app/test/money", thirdParty: true, // the flows of money on real stores and the simulated gateway
		imports: with("app/alipay", "app/test/faults", "migrations"),
	},
	layer{
		path: "app/test/crash", thirdParty: true, // the flows of money, and the names of the crash points
		imports: with(
			"app/account", "app/alipay", "app/test/faults", "app/wsclient", "realtime", "migrations",
		),
	},
)

// coreLayers returns the layers of the core packages. The two stores may import third-party modules and do not import
// each other.
func coreLayers() []layer {
	found := make([]layer, len(core))
	for i, path := range core {
		found[i] = layer{path: path, imports: core[:i:i], inTests: []string{doubles}}
		switch {
		case path == "app/store":
			found[i].imports = append(found[i].imports, "app/snowflake", "migrations")
			found[i].thirdParty, found[i].inTests = true, core[i+1:]
		case path == "streams":
			found[i].imports, found[i].thirdParty = flows, true
		case i > len(flows):
			found[i].inTests = append(found[i].inTests, "app/test/faults")
		}
	}
	return found
}

// with returns all core packages and the other paths.
func with(others ...string) []string { return append(slices.Clone(core), others...) }

// testSupport may be imported by tests only. Any test may also import third-party modules.
const testSupport = "app/test/kit"

// doubles is the package of doubles that inject faults into the tests of the core packages.
const doubles = "app/test/fakes"

// exact names the layers that cover a single package: "app/trace" does not cover "app/trace/export".
var exact = map[string]bool{"app": true, "app/trace": true}

// check returns a sentence about a forbidden import; "" if the import is allowed.
func check(from, to string, inTest bool) string {
	l, ok := layerOf(from)
	if !ok {
		return fmt.Sprintf("%s has no layer: give it one in deploy/tools/layers/rules.go", from)
	}
	inside, ownModule := strings.CutPrefix(to, module+"/")
	switch {
	case ownModule && allows(l, inside):
	case ownModule && inTest && (within(inside, testSupport) || slices.Contains(l.inTests, inside)):
	case ownModule:
		return fmt.Sprintf("%s imports %s; of this module, it may import: %s", from, to, list(l.imports))
	case !standard(to) && !l.thirdParty && !inTest:
		return fmt.Sprintf("%s imports %s; it may import the standard library only", from, to)
	}
	return ""
}

// layerOf returns the matching layer with the longest path. A layer in exact covers only itself: a new folder below it
// needs its own layer.
func layerOf(importPath string) (found layer, ok bool) {
	path := strings.TrimPrefix(importPath, module+"/")
	for _, l := range layers {
		if covers(l.path, path) && len(l.path) >= len(found.path) {
			found, ok = l, true
		}
	}
	return found, ok
}

func allows(l layer, path string) bool {
	if within(path, l.path) && !exact[l.path] {
		return true
	}
	for _, allowed := range l.imports {
		if covers(allowed, path) {
			return true
		}
	}
	return false
}

func covers(layerPath, path string) bool {
	return path == layerPath || !exact[layerPath] && within(path, layerPath)
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// standard reports whether a package is in the standard library. The first path element of all other modules has a dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func list(paths []string) string {
	if len(paths) == 0 {
		return "nothing"
	}
	return strings.Join(paths, ", ")
}
