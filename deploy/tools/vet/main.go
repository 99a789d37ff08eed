// Vet is go vet with our own checks beside its own: one pass over the program and all that it imports instead of one
// for each tool, which read the same. Go runs it, and remembers its results:
//
//	go vet -vettool=.run/tools/vet ./...
package main

import (
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"

	"stampede/deploy/tools/bodies"
)

func main() { unitchecker.Main(slices.Concat(vet.Suite, []*analysis.Analyzer{bodies.Analyzer})...) }
