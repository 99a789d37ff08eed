package main

import (
	"reflect"
	"testing"
)

const source = `// Package a has one of each figure.
package a

import (
	"fmt"
	"io"
)

// Reader is documented.
type Reader interface{ io.Reader }

type Undocumented struct{}

func (Undocumented) Wide(a, b, c int, d, e, f string) { fmt.Println(a, b, c, d, e, f) } // not a comment line

func (hidden) Exported() {
	// a comment line

}

type hidden struct{}
`

func parsed(t *testing.T, path, source string) *file {
	t.Helper()
	f, err := parse(path, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTotal expects that only functions with many parameters are counted in test code.
func TestTotal(t *testing.T) {
	got := total([]*file{parsed(t, "a/a.go", source), parsed(t, "a/a_test.go", source)})
	want := figures{
		interfaces: 1, wide: []string{"a/a.go:14 Wide", "a/a_test.go:14 Wide"},
		packages: map[string]int{"a": 1}, ports: map[string]int{"a.Reader": 1},
		methods:   map[string]int{"a.Undocumented": 1, "a.hidden": 1},
		fileLines: []int{21}, functionLines: []int{1, 4}, exported: 3, documented: 1, nonBlank: 14, comments: 3,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestDuplicates expects one pair per run of at least six equal lines. Blank lines, indentation and imports are
// ignored.
func TestDuplicates(t *testing.T) {
	const imports = "import (\n\"a\"\n\"b\"\n\"c\"\n\"d\"\n\"e\"\n\"f\"\n)\n"
	const run = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"
	files := []*file{
		parsed(t, "x.go", "package x\n"+imports+"func x() {\n"+run+"f = 6\ng = 7\nx()\n}\n"),
		parsed(t, "y.go", "package y\n"+imports+"func y() {\n"+run+"\n\tf = 6\ng = 7\ny()\n}\n"),
		parsed(t, "z.go", "package z\n"+imports+"func z() {\n"+run+"z()\n}\n"),
	}
	want := []pair{{a: "x.go:11-17", b: "y.go:11-18", lines: 7}}
	if got := duplicates(files); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCoveredFiles(t *testing.T) {
	profile := "mode: set\nm/a.go:1.2,3.4 2 1\nm/a.go:5.2,6.4 1 3\nm/b.go:1.2,3.4 1 0\nm/c.go:1.2,3.4 1 10\n"
	if got := coveredFiles(profile); got != 2 {
		t.Errorf("%d files, want 2", got)
	}
}
