// Vet is go vet with this project's own check (bodies) in the same pass. The go command runs it and caches its results:
//
//	go vet -vettool=.run/tools/vet ./...
package main

import (
	"encoding/json"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"

	"stampede/deploy/tools/bodies"
)

func main() {
	analyzers := []*analysis.Analyzer{bodies.Analyzer}
	if !dependency(os.Args[len(os.Args)-1]) {
		analyzers = append(analyzers, vet.Suite...)
	}
	unitchecker.Main(analyzers...)
}

// dependency reports whether a unit is a package of another module. Such units get no vet analyzers. The go command
// runs the tool on them for facts, which mark wrappers of printf and functions that never return. Deriving the facts of
// all dependencies takes minutes on two cores, and staticcheck checks the same.
func dependency(config string) bool {
	if !strings.HasSuffix(config, ".cfg") {
		return false
	}
	text, err := os.ReadFile(config)
	var unit struct {
		ImportPath string
		VetxOnly   bool
	}
	return err == nil && json.Unmarshal(text, &unit) == nil && unit.VetxOnly &&
		unit.ImportPath != "stampede" && !strings.HasPrefix(unit.ImportPath, "stampede/")
}
