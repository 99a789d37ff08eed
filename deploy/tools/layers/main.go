// Layers checks who imports whom in the module of the working directory against the rule in rules.go.
// It prints every import that breaks it and exits with 1 if there is one, with 2 if it could not look.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// goPackage is what `go list -json` says about a package.
type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func main() {
	packages, err := listPackages()
	if err != nil {
		fmt.Fprintln(os.Stderr, "layers:", err)
		os.Exit(2)
	}
	wrong := offences(packages)
	for _, sentence := range wrong {
		fmt.Println(sentence)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

// listPackages reads imports from the sources, so it works while the module does not build.
func listPackages() ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, errors.New("no packages here")
	}
	return packages, nil
}

// offences holds one sentence per import that breaks the rule. An external test package imports the
// package under test, which is no offence.
func offences(packages []goPackage) []string {
	var wrong []string
	add := func(from string, imports []string, inTest bool) {
		for _, to := range imports {
			if to == from {
				continue
			}
			if sentence := check(from, to, inTest); sentence != "" {
				wrong = append(wrong, sentence)
			}
		}
	}
	for _, p := range packages {
		add(p.ImportPath, p.Imports, false)
		add(p.ImportPath, p.TestImports, true)
		add(p.ImportPath, p.XTestImports, true)
	}
	return wrong
}
