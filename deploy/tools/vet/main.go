// Vet is go vet with this project's own check (bodies) in the same pass. The go command runs it and caches its results:
//
//	go vet -vettool=.run/tools/vet ./...
package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"

	"stampede/deploy/tools/bodies"
)

func main() {
	if skipDependency(os.Args[len(os.Args)-1]) {
		return
	}
	unitchecker.Main(slices.Concat(vet.Suite, []*analysis.Analyzer{bodies.Analyzer})...)
}

// skipDependency writes an empty set of facts for packages of other modules and reports whether it did. Analyzers use
// such facts to find wrappers of printf and functions that never return. Deriving them for all dependencies takes
// minutes on two cores; staticcheck covers both.
func skipDependency(config string) bool {
	if !strings.HasSuffix(config, ".cfg") {
		return false
	}
	text, err := os.ReadFile(config)
	var unit struct {
		ImportPath, VetxOutput string
		VetxOnly               bool
	}
	if err != nil || json.Unmarshal(text, &unit) != nil || !unit.VetxOnly ||
		unit.ImportPath == "stampede" || strings.HasPrefix(unit.ImportPath, "stampede/") {
		return false
	}
	return os.WriteFile(unit.VetxOutput, nil, 0o600) == nil
}
