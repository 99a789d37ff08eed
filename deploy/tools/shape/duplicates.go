package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// minLines is the minimum number of equal non-blank lines of a duplicate.
const minLines = 6

// pair is a maximal run of equal lines in two places, written as `file:first-last`.
type pair struct {
	a, b  string
	lines int
}

// place is an index into the lines of a file.
type place struct {
	*file
	at int
}

// duplicates finds the pairs of places with equal lines after trimming. Places of one file must not overlap.
func duplicates(files []*file) []pair {
	windows := map[string][]place{}
	for _, f := range files {
		for i := range max(len(f.lines)-minLines+1, 0) {
			text := strings.Join(f.lines[i:i+minLines], "\n")
			windows[text] = append(windows[text], place{f, i})
		}
	}
	var pairs []pair
	for _, places := range windows {
		for i, a := range places {
			for _, b := range places[i+1:] {
				if a.file == b.file && b.at-a.at < minLines || a.line(-1) != "" && a.line(-1) == b.line(-1) {
					continue
				}
				n := minLines
				for a.line(n) != "" && a.line(n) == b.line(n) {
					n++
				}
				pairs = append(pairs, pair{a: a.name(n), b: b.name(n), lines: n})
			}
		}
	}
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(y.lines-x.lines, cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	return pairs
}

// line returns the n-th line from the place; "" outside the file.
func (p place) line(n int) string {
	if p.at+n < 0 || p.at+n >= len(p.lines) {
		return ""
	}
	return p.lines[p.at+n]
}

func (p place) name(n int) string {
	return fmt.Sprintf("%s:%d-%d", p.path, p.numbers[p.at], p.numbers[p.at+n-1])
}
