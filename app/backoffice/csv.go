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

// The catalogue as CSV tables in UTF-8. The header names the columns, in any order. An export puts an apostrophe in
// front of cells that a spreadsheet would evaluate as a formula; an import removes it.

const (
	maxLines    = 10_000
	maxProblems = 100 // that a report lists
	bom         = shop.ByteOrderMark
	// separators end a cell in spreadsheets that use ; as separator or ignore quotes.
	separators = ";\t\r\n"
	// formulaStarts lists the characters that start a formula. The apostrophe is guarded as well, so that unguardCell
	// is unambiguous.
	formulaStarts = "=+-@＝＋－＠'"
)

// ImportProblem is one error in a table and its position.
type ImportProblem struct {
	Line    int    `json:"line"` // in the file; the header is line 1
	Column  string `json:"column,omitempty"`
	Message string `json:"message"`
}

// ImportReport is the result of an import.
type ImportReport struct {
	Lines    int             `json:"lines"` // without the header
	Created  int             `json:"created"`
	Changed  int             `json:"changed"`
	Same     int             `json:"same"` // unchanged lines
	Problems []ImportProblem `json:"problems"`
	// Removed names the markup that was removed from descriptions, by line; at most maxProblems lines.
	Removed []RemovedMarkup `json:"removed,omitempty"`
	DryRun  bool            `json:"dry_run"`
}

// RemovedMarkup names the markup that was removed from the description in a line.
type RemovedMarkup struct {
	Line  int      `json:"line"` // in the file; the header is line 1
	Names []string `json:"names"`
}

// guardCell puts an apostrophe in front of each part of a cell that a spreadsheet could evaluate as a formula. A part
// starts at the beginning of the cell or after a separator.
func guardCell(text string) string {
	var guarded strings.Builder
	for i := range len(text) {
		if startsPart(text, i) && startsFormula(text[i:], i == 0) {
			guarded.WriteByte('\'')
		}
		guarded.WriteByte(text[i])
	}
	return guarded.String()
}

// unguardCell removes the apostrophes that guardCell adds.
func unguardCell(text string) string {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		if startsPart(text, i) && text[i] == '\'' && startsFormula(text[i+1:], i == 0) {
			i++ // an apostrophe after the guard belongs to the cell
		}
		plain.WriteByte(text[i])
	}
	return plain.String()
}

func startsPart(text string, i int) bool {
	return i == 0 || strings.IndexByte(separators, text[i-1]) >= 0
}

// startsFormula reports whether a spreadsheet could evaluate a part of a cell. A spreadsheet may ignore quotes and, at
// the start of the cell, white space.
func startsFormula(part string, first bool) bool {
	if first && strings.IndexAny(part, "\t\r\n") == 0 {
		return true
	}
	r, size := utf8.DecodeRuneInString(strings.TrimLeft(part, `"`))
	return size > 0 && strings.ContainsRune(formulaStarts, r)
}

// writeTable writes the header and the lines as CSV.
func writeTable(head []string, lines [][]string) []byte {
	var out bytes.Buffer
	out.WriteString(bom) // without it spreadsheets guess another encoding
	w := csv.NewWriter(&out)
	_ = w.Write(head) // a bytes.Buffer never fails
	for _, line := range lines {
		for i := range line {
			line[i] = guardCell(line[i])
		}
		_ = w.Write(line)
	}
	w.Flush()
	return out.Bytes()
}

// table is a parsed file: its lines and the errors found so far.
type table struct {
	lines    []tableLine
	problems []ImportProblem
}

type tableLine struct {
	number int
	cells  map[string]string // by column; only columns of the header
}

// has reports whether the line has a value in the column.
func (l *tableLine) has(column string) bool { return l.cells[column] != "" }

// addProblem records an error in a line.
func (t *table) addProblem(l *tableLine, column, message string) {
	t.problems = append(t.problems, ImportProblem{Line: l.number, Column: column, Message: message})
}

// readTable parses a file whose header may contain only known columns. It stops at the first line with invalid quotes
// or a wrong number of cells and records the error. BadRequest: the file is not a table.
func readTable(file []byte, known []string) (*table, error) {
	if !utf8.Valid(file) {
		return nil, shop.Fail(shop.BadRequest, "the file is not in UTF-8: save it as 'CSV UTF-8'")
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte(bom))))
	head, err := r.Read()
	if err != nil {
		return nil, shop.Fail(shop.BadRequest, "the file has no header with column names; the columns are: "+strings.Join(known, ", "))
	}
	for i, name := range head {
		head[i] = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(known, head[i]) {
			return nil, shop.Failf(shop.BadRequest, "the header has the unknown column %q; the columns are: %s", shop.Clip(head[i], 40), strings.Join(known, ", "))
		}
		if slices.Contains(head[:i], head[i]) {
			return nil, shop.Fail(shop.BadRequest, "the header has the column "+head[i]+" twice")
		}
	}
	t := &table{}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		line := tableLine{cells: make(map[string]string, len(head))}
		var parseErr *csv.ParseError
		if errors.As(err, &parseErr) {
			line.number = parseErr.StartLine
			t.addProblem(&line, "", parseErrorText(parseErr, len(record), len(head)))
			return t, nil
		}
		if len(t.lines) == maxLines {
			return nil, shop.Failf(shop.BadRequest, "the file has more than %d lines: split the file", maxLines)
		}
		line.number, _ = r.FieldPos(0)
		for i, cell := range record {
			line.cells[head[i]] = unguardCell(strings.TrimSpace(cell))
		}
		t.lines = append(t.lines, line)
	}
}

func parseErrorText(parseErr *csv.ParseError, cells, columns int) string {
	if errors.Is(parseErr.Err, csv.ErrFieldCount) {
		return fmt.Sprintf("the line has %d cells, but the header has %d", cells, columns)
	}
	return "a quote is not closed or not escaped; the lines after this one were not read"
}

// rejection returns the error of an import that was rejected; it lists the first problems.
func (r *ImportReport) rejection() error {
	const listed = 5
	var lines []string
	for _, p := range r.Problems[:min(listed, len(r.Problems))] {
		position := fmt.Sprintf("line %d", p.Line)
		if p.Column != "" {
			position += ", " + p.Column
		}
		lines = append(lines, position+": "+p.Message)
	}
	text := "nothing was imported. " + strings.Join(lines, "; ")
	if more := len(r.Problems) - len(lines); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return shop.Fail(shop.BadRequest, text)
}

// yesNo formats a boolean cell; readYesNo parses it.
func yesNo(value bool) string {
	if value {
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
