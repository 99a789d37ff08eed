// Layers checks the imports within the module of the working directory against rules.go. It prints every forbidden
// import. Exit status: 1 for a forbidden import, 2 if the check could not run.
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

// goPackage is the output of `go list -json` for a package.
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
	sentences := offences(packages)
	for _, sentence := range sentences {
		fmt.Println(sentence)
	}
	if len(sentences) > 0 {
		os.Exit(1)
	}
}

// listPackages reads imports from the sources, so it works even if the module does not build.
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
		return nil, errors.New("go list found no packages")
	}
	return packages, nil
}

// offences returns one sentence per forbidden import. An external test package may import the package under test.
func offences(packages []goPackage) []string {
	var sentences []string
	add := func(from string, imports []string, inTest bool) {
		for _, to := range imports {
			if to == from {
				continue
			}
			if sentence := check(from, to, inTest); sentence != "" {
				sentences = append(sentences, sentence)
			}
		}
	}
	for _, p := range packages {
		add(p.ImportPath, p.Imports, false)
		add(p.ImportPath, p.TestImports, true)
		add(p.ImportPath, p.XTestImports, true)
	}
	return sentences
}
