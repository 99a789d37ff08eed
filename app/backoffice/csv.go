package backoffice

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"stampede/app/shop"
)

// The catalogue as tables for people: CSV in UTF-8, with a head that names the columns, in any order. A cell that a
// spreadsheet would compute gets an apostrophe in front, which an import removes.

const (
	mostLines    = 10_000
	mostProblems = 100 // that are named
	bom          = "\ufeff"
	// separators end a cell in spreadsheets whose separator is ; or that ignore quotes behind one.
	separators = ";\t\r\n"
	// computed begins a formula; apostrophes are guarded, too, so that the guard can be removed.
	computed = "=+-@＝＋－＠'"
)

// ImportProblem is what is wrong in a table, and where.
type ImportProblem struct {
	Line   int    `json:"line"` // in the file; the head is 1
	Column string `json:"column,omitempty"`
	Says   string `json:"says"`
}

// ImportReport is what an import comes to.
type ImportReport struct {
	Lines    int             `json:"lines"` // without the head
	Created  int             `json:"created"`
	Changed  int             `json:"changed"`
	Same     int             `json:"same"` // lines that change nothing
	Problems []ImportProblem `json:"problems"`
	DryRun   bool            `json:"dry_run"`
}

// guardCell puts an apostrophe in front of each part of a cell that a spreadsheet could take for a formula: at its
// start and behind separators.
func guardCell(text string) string {
	var guarded strings.Builder
	for i := range len(text) {
		if startsPart(text, i) && computes(text[i:], i == 0) {
			guarded.WriteByte('\'')
		}
		guarded.WriteByte(text[i])
	}
	return guarded.String()
}

// unguardCell removes the apostrophes of guardCell.
func unguardCell(text string) string {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		if startsPart(text, i) && text[i] == '\'' && computes(text[i+1:], i == 0) {
			i++ // an apostrophe behind the guard is part of the cell
		}
		plain.WriteByte(text[i])
	}
	return plain.String()
}

func startsPart(text string, i int) bool {
	return i == 0 || strings.IndexByte(separators, text[i-1]) >= 0
}

// computes reports whether a spreadsheet could compute a part of a cell. It may remove quotes, and at the start of
// a cell white space.
func computes(part string, first bool) bool {
	if first && strings.IndexAny(part, "\t\r\n") == 0 {
		return true
	}
	r, size := utf8.DecodeRuneInString(strings.TrimLeft(part, `"`))
	return size > 0 && strings.ContainsRune(computed, r)
}

// writeTable writes a head and lines.
func writeTable(head []string, lines [][]string) []byte {
	var out bytes.Buffer
	out.WriteString(bom) // spreadsheets take the file for another encoding without it
	w := csv.NewWriter(&out)
	_ = w.Write(head) // a buffer takes everything
	for _, line := range lines {
		for i := range line {
			line[i] = guardCell(line[i])
		}
		_ = w.Write(line)
	}
	w.Flush()
	return out.Bytes()
}

// table is a file that was read: its lines by the names of their columns.
type table struct {
	lines    []tableLine
	problems []ImportProblem
}

type tableLine struct {
	number int
	cells  map[string]string // of the columns that the head has
}

// has reports whether the line says anything in the column.
func (l *tableLine) has(column string) bool { return l.cells[column] != "" }

// wrong notes what is wrong in a line.
func (t *table) wrong(l *tableLine, column, says string) {
	t.problems = append(t.problems, ImportProblem{Line: l.number, Column: column, Says: says})
}

// readTable reads a file whose head names only known columns. After a line with wrong quotes or length nothing is read;
// a file that is no table is BadRequest.
func readTable(file []byte, known []string) (*table, error) {
	if !utf8.Valid(file) {
		return nil, shop.Fail(shop.BadRequest, "the file is not in UTF-8: save it as 'CSV UTF-8'")
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte(bom))))
	head, err := r.Read()
	if err != nil {
		return nil, shop.Fail(shop.BadRequest, "the file has no head that names its columns: "+strings.Join(known, ", "))
	}
	for i, name := range head {
		head[i] = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(known, head[i]) {
			return nil, shop.Failf(shop.BadRequest, "the head has the column %q; known are %s", shop.Clip(head[i], 40), strings.Join(known, ", "))
		}
		if slices.Contains(head[:i], head[i]) {
			return nil, shop.Fail(shop.BadRequest, "the head has the column "+head[i]+" twice")
		}
	}
	t := &table{}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		line := tableLine{cells: make(map[string]string, len(head))}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			line.number = broken.StartLine
			t.wrong(&line, "", wordBroken(broken, len(record), len(head)))
			return t, nil
		}
		if len(t.lines) == mostLines {
			return nil, shop.Failf(shop.BadRequest, "the file has more than %d lines: split it", mostLines)
		}
		line.number, _ = r.FieldPos(0)
		for i, cell := range record {
			line.cells[head[i]] = unguardCell(strings.TrimSpace(cell))
		}
		t.lines = append(t.lines, line)
	}
}

func wordBroken(broken *csv.ParseError, cells, columns int) string {
	if errors.Is(broken.Err, csv.ErrFieldCount) {
		return fmt.Sprintf("the line has %d cells, the head %d", cells, columns)
	}
	return "the quotes do not fit; nothing behind this line was read"
}

// refused is the answer when a table with problems is to be imported: the first of them.
func (r *ImportReport) refused() error {
	const named = 5
	var lines []string
	for _, p := range r.Problems[:min(named, len(r.Problems))] {
		where := fmt.Sprintf("line %d", p.Line)
		if p.Column != "" {
			where += ", " + p.Column
		}
		lines = append(lines, where+": "+p.Says)
	}
	text := "nothing was imported. " + strings.Join(lines, "; ")
	if more := len(r.Problems) - len(lines); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return shop.Fail(shop.BadRequest, text)
}

// yesNo writes and reads answers.
func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func readYesNo(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	return false, shop.Fail(shop.BadRequest, "must be yes or no")
}
