// Shape reports figures of the Go code in the working directory with their targets. A missed target is no failure:
// shape fails only if it cannot read the code. Test code is *_test.go and app/test.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	profile := flag.String("buy", "", "coverage `profile` of a test with one buy: count the files with a covered statement")
	list := flag.Bool("list", false, "list the functions with too many parameters and the duplicates")
	flag.Parse()
	if err := report(*profile, *list); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

// report prints the table, then the lists.
func report(profile string, list bool) error {
	cycles, err := packageCycles()
	if err != nil {
		return err
	}
	files, err := readFiles()
	if err != nil {
		return err
	}
	covered := "--buy PROFILE"
	if profile != "" {
		text, err := os.ReadFile(profile)
		if err != nil {
			return err
		}
		covered = fmt.Sprint(coveredFiles(string(text)))
	}
	t := total(files)
	pairs := duplicates(files)

	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	row := func(figure string, now any, target string) { fmt.Fprintf(table, "%s\t%v\t%s\n", figure, now, target) }
	row("figure", "now", "target")
	row("package cycles", cycles, "none")
	row("files with a covered statement in one buy", covered, "≤ 12 to the response, ≤ 22 to the push")
	row("interfaces", t.interfaces, "≤ 30")
	row("methods of an interface, at most", largest(t.ports), "≤ 12")
	row("methods of a type, at most", largest(t.methods), "≤ 40")
	row("functions with more than five parameters", len(t.wide), "≤ 5")
	row("files per package, at most", largest(t.packages), "≤ 40")
	row("lines of a file, median/p90", spread(t.fileLines), "100/220")
	row("lines of a function, median/p90", spread(t.functionLines), "10/25")
	row("literal duplicate pairs", len(pairs), "< 60")
	row("exported declarations with doc", percent(t.documented, t.exported), "98 %")
	row("comments", percent(t.comments, t.nonBlank), "15–20 %")
	if err := table.Flush(); err != nil || !list {
		return err
	}
	fmt.Printf("\nfunctions with more than five parameters\n%s\n", strings.Join(t.wide, "\n"))
	fmt.Println("\nliteral duplicate pairs")
	for _, p := range pairs {
		fmt.Printf("%d lines: %s = %s\n", p.lines, p.a, p.b)
	}
	return nil
}

// packageCycles reports whether the go command finds an import cycle.
func packageCycles() (string, error) {
	problems, err := linesOf("go", "list", "-e", "-f", `{{range .DepsErrors}}{{printf "%q\n" .Err}}{{end}}`, "./...")
	if slices.ContainsFunc(problems, func(s string) bool { return strings.Contains(s, "import cycle") }) {
		return "some", err
	}
	return "none", err
}

// readFiles parses the Go files that are in git or could be added.
func readFiles() ([]*file, error) {
	paths, err := linesOf("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", ":!*/testdata/*")
	if err != nil {
		return nil, err
	}
	var files []*file
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and still in the index
		}
		if err != nil {
			return nil, err
		}
		f, err := parse(path, source)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// linesOf runs a command and returns the lines of its output without empty ones.
func linesOf(name string, arguments ...string) ([]string, error) {
	cmd := exec.Command(name, arguments...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, arguments[0], err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// coveredFiles counts the files of a coverage profile in which a statement ran. A line is
// `file:line.column,line.column statements count`.
func coveredFiles(profile string) int {
	covered := map[string]bool{}
	for line := range strings.Lines(profile) {
		fields := strings.Fields(line)
		name, _, ok := strings.Cut(fields[0], ".go:")
		if ok && len(fields) == 3 && fields[2] != "0" {
			covered[name] = true
		}
	}
	return len(covered)
}

// spread formats the median and the 90th percentile.
func spread(values []int) string {
	if len(values) == 0 {
		return "–"
	}
	slices.Sort(values)
	return fmt.Sprintf("%d/%d", values[len(values)/2], values[len(values)*9/10])
}

func percent(part, whole int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1)))
}
