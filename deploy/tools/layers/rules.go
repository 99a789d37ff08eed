package main

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path of the module that the rules are about.
const module = "stampede"

// layer says what a package and the packages below it may import.
type layer struct {
	path       string   // below the module
	imports    []string // of this module; a path covers what lies below it
	thirdParty bool     // may import other people's modules
	inTests    []string // of this module, in tests only
}

// layers is the import rule: imports point inward,
//
//	cmd → server → {api, account, alipay, mail, store, streams, realtime, frontend, migrations} → app
//	      server → recovery → app
//
//	{api, account, realtime} → limits → app
//
// app tells the story with the standard library alone. streams and realtime never meet except in
// app's flows. Commands under cmd reach the packages only through the server, so that there is one
// composition root; the simulated gateway they start themselves, because it is no part of a server. The longest path
// wins.
var layers = []layer{
	{path: "app"},
	{path: "app/recovery", imports: []string{"app"}},
	{path: "streams", imports: []string{"app"}, thirdParty: true},
	{
		path: "realtime", imports: []string{"app", "app/limits"}, thirdParty: true,
		inTests: []string{"app/wsclient"},
	},
	{path: "frontend"},
	{path: "migrations", thirdParty: true, inTests: []string{"app/store"}},
	{
		path: "app/account", imports: []string{"app", "app/limits"}, thirdParty: true,
		inTests: []string{"app/store", "migrations"},
	},
	{path: "app/alipay", imports: []string{"app", "app/alipay"}, thirdParty: true},
	{path: "app/snowflake", imports: []string{"app"}},
	{path: "app/store", imports: []string{"app", "app/snowflake", "migrations"}, thirdParty: true},
	{path: "app/api/spec"},
	{path: "app/picture", imports: []string{"app"}, thirdParty: true},
	{path: "app/markup", thirdParty: true},
	{path: "app/trace/export", imports: []string{"app"}, thirdParty: true},
	{path: "app/limits", imports: []string{"app"}, thirdParty: true},
	{path: "app/api", imports: []string{"app", "app/limits"}, thirdParty: true},
	{path: "app/load", imports: []string{"app", "app/wsclient"}, thirdParty: true},
	{path: "deploy/bench", imports: []string{"app", "app/load", "app/alipay/sim"}, thirdParty: true},
	{path: "app/webhook", imports: []string{"app"}},
	{path: "app/mail", imports: []string{"app"}, thirdParty: true},
	{path: "app/demo", imports: []string{"app", "app/wsclient"}, thirdParty: true},
	// the other end of the wire: no server imports it
	{path: "app/wsclient", imports: []string{"app"}, thirdParty: true},
	{
		path: "app/server", thirdParty: true, inTests: []string{"app/test/faults"},
		imports: []string{
			"app", "app/account", "app/api", "app/alipay", "app/demo", "app/limits", "app/store",
			"app/mail", "app/markup", "app/picture", "app/recovery", "app/trace/export", "app/webhook", "streams", "realtime",
			"frontend", "migrations",
		},
	},
	{
		path: "app/cmd", thirdParty: true, imports: []string{
			"app", "app/recovery", "app/server", "app/load", "app/demo", "app/wsclient", "app/alipay/sim", "migrations",
		},
	},
	{path: testSupport, imports: []string{"app"}, thirdParty: true},
	{path: "app/test/kit/contract", imports: []string{"app", "app/api/spec"}, thirdParty: true},
	{path: "app/test/kit/asyncapi", imports: []string{"app/wsclient"}, thirdParty: true, inTests: []string{"realtime"}},
	// stands between flows and ports; only a build for the crash suite has it, which this rule does not look at
	{path: "app/test/faults", imports: []string{"app", "app/recovery", "streams"}, thirdParty: true},
	{path: "app/test/attack", imports: []string{"app", "app/wsclient"}, thirdParty: true},
	{
		path: "app/test/e2e", thirdParty: true, // it prepares shops with these, and meets the program from outside
		imports: []string{
			"app", "app/account", "app/recovery", "app/store", "app/test/attack", "app/wsclient", "streams", "realtime",
			"migrations",
		},
	},
	{
		path: "app/test/money", thirdParty: true, // the flows of money on real stores and the simulated gateway
		imports: []string{
			"app", "app/alipay", "app/recovery", "app/store", "app/test/faults", "streams", "migrations",
		},
	},
	{
		path: "app/test/crash", thirdParty: true, // likewise; and it names the points at which the program dies
		imports: []string{
			"app", "app/account", "app/alipay", "app/store", "app/test/faults", "app/wsclient", "realtime", "migrations",
		},
	},
}

// testSupport is for tests only. These may also import other people's modules.
const testSupport = "app/test/kit"

// exact names the layers that mean one package in a list of imports: "app" is not "app/store".
var exact = map[string]bool{"app": true}

// check returns what is wrong with an import, or "".
func check(from, to string, inTest bool) string {
	l, ok := layerOf(from)
	if !ok {
		return fmt.Sprintf("%s has no layer: give it one in deploy/tools/layers/rules.go", from)
	}
	inside, ours := strings.CutPrefix(to, module+"/")
	switch {
	case ours && allows(l, inside):
	case ours && inTest && (within(inside, testSupport) || slices.Contains(l.inTests, inside)):
	case ours:
		return fmt.Sprintf("%s imports %s; it may import of this module: %s", from, to, list(l.imports))
	case !standard(to) && !l.thirdParty && !inTest:
		return fmt.Sprintf("%s imports %s; it may import the standard library only", from, to)
	}
	return ""
}

// layerOf finds the layer with the longest path. The innermost package "app" covers only itself: a
// new folder below it needs a layer of its own.
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

// standard: only other people's modules have a dot in the first part of their path.
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
