package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`, see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // in build-output and build-fail, instead of Package
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string  // the ImportPath whose build failed
}

// verdict counts and remembers only what it may still have to print: the output of what has not
// ended yet.
type verdict struct {
	out            io.Writer
	passed, failed int
	packages       map[string]*pkg
	builds         map[string]*strings.Builder // compiler messages by ImportPath
	shown          map[string]bool             // builds whose messages are printed
}

// pkg is a package whose tests are running.
type pkg struct {
	passed, failed int
	running        map[string]*strings.Builder // output of tests that have not ended, by name
	output         strings.Builder             // what belongs to no test
}

func newVerdict(out io.Writer) *verdict {
	return &verdict{
		out:      out,
		packages: make(map[string]*pkg),
		builds:   make(map[string]*strings.Builder),
		shown:    make(map[string]bool),
	}
}

func (v *verdict) take(e event) {
	switch {
	case e.Action == "build-output":
		v.build(e.ImportPath).WriteString(e.Output)
	case e.Package == "":
	case e.Test == "":
		v.takePackage(e)
	default:
		v.takeTest(e)
	}
}

func (v *verdict) takePackage(e event) {
	p := v.pkg(e.Package)
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
	case "pass", "skip": // skip: no test files
		v.endPackage(e, p)
	case "fail":
		if e.FailedBuild != "" {
			v.fail("%s does not build", e.Package)
			v.printBuild(e.FailedBuild)
		} else if p.failed == 0 && len(p.running) == 0 {
			v.fail("%s failed, but none of its tests did", e.Package)
			v.print(p.output.String())
		}
		v.endPackage(e, p)
	}
}

// endPackage counts tests that never ended as failed: the process died under them.
func (v *verdict) endPackage(e event, p *pkg) {
	unfinished := make([]string, 0, len(p.running))
	for name := range p.running {
		unfinished = append(unfinished, name)
	}
	slices.Sort(unfinished)
	for _, name := range unfinished {
		p.failed++
		v.fail("%s.%s did not end", e.Package, name)
		v.print(p.running[name].String())
	}
	if len(unfinished) > 0 {
		v.print(p.output.String())
	}
	if p.passed+p.failed > 0 {
		fmt.Fprintf(v.out, "%-4s  %-28s %4d passed %3d failed  %6.1f s\n",
			mark(p.failed == 0 && e.Action != "fail"), e.Package, p.passed, p.failed, e.Elapsed)
	}
	delete(v.packages, e.Package)
}

func (v *verdict) takeTest(e event) {
	p := v.pkg(e.Package)
	switch e.Action {
	case "run":
		p.test(e.Test)
	case "output":
		p.test(e.Test).WriteString(e.Output)
	case "pass":
		v.passed++
		p.passed++
		delete(p.running, e.Test)
	case "fail":
		p.failed++
		v.fail("%s.%s (%.1f s)", e.Package, e.Test, e.Elapsed)
		v.print(p.test(e.Test).String())
		delete(p.running, e.Test)
	case "skip":
		p.failed++
		v.fail("%s.%s was skipped, which counts as failed", e.Package, e.Test)
		v.print(p.test(e.Test).String())
		delete(p.running, e.Test)
	}
}

// conclude prints the last line and says whether the run is good.
func (v *verdict) conclude() bool {
	for name, p := range v.packages {
		v.fail("%s did not end", name)
		v.print(p.output.String())
	}
	if v.passed+v.failed == 0 {
		v.fail("no test ran")
	}
	fmt.Fprintf(v.out, "%d passed, %d failed\n", v.passed, v.failed)
	return v.failed == 0
}

func (v *verdict) fail(format string, args ...any) {
	v.failed++
	fmt.Fprintf(v.out, "FAIL  "+format+"\n", args...)
}

// printBuild prints the compiler's messages once, although every package above the broken one fails.
func (v *verdict) printBuild(importPath string) {
	if v.shown[importPath] {
		return
	}
	v.shown[importPath] = true
	v.print(v.build(importPath).String())
}

// print indents, so that the lines of the verdict itself stand out.
func (v *verdict) print(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(v.out, "      %s\n", strings.TrimSuffix(line, "\n"))
	}
}

func (v *verdict) pkg(name string) *pkg {
	p := v.packages[name]
	if p == nil {
		p = &pkg{running: make(map[string]*strings.Builder)}
		v.packages[name] = p
	}
	return p
}

func (v *verdict) build(importPath string) *strings.Builder {
	if v.builds[importPath] == nil {
		v.builds[importPath] = new(strings.Builder)
	}
	return v.builds[importPath]
}

func (p *pkg) test(name string) *strings.Builder {
	if p.running[name] == nil {
		p.running[name] = new(strings.Builder)
	}
	return p.running[name]
}

func mark(ok bool) string {
	if ok {
		return "ok"
	}
	return "FAIL"
}
