package backoffice

import (
	"bytes"
	"encoding/csv"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stampede/app/shop"
)

// formula matches a cell that begins like a formula, or has such a part after a character that can end a cell.
var formula = regexp.MustCompile(`^[\t\r\n]|(^|[;\t\r\n])"*[=+\-@＝＋－＠]`)

// A cell that a spreadsheet would evaluate is text in the file, and an import restores it.
func TestGuardedCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{
		"=1+1", "+49 30", "-5", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''", "'", "plain", "",
		"=HYPERLINK(\"https://evil.example\")", "＝1+1", "＋1", "－1", "＠SUM(A1)", "\n=1", "a;=1", "a;\"=1", "a\n=1", "a\r\n-b",
		"a;'=1", "a\t\t＝1", "\"=1", "a;b\nc", "a-b=c",
	} {
		guarded := guardCell(cell)
		if formula.MatchString(guarded) {
			t.Errorf("%q: got the formula %q, want text", cell, guarded)
		}
		if back := unguardCell(guarded); back != cell {
			t.Errorf("restored cell: got %q, want %q", back, cell)
		}
	}
}

// Errors of the whole file fail the read; errors of a line are recorded with its number.
func TestReadTableReportsErrorsWithLines(t *testing.T) {
	t.Parallel()
	columns := []string{"id", "name"}
	for file, want := range map[string]string{
		"":                                     "no header",
		"\xff\xfei\x00d\x00":                   "not in UTF-8",
		"id,price\n":                           `unknown column "price"`,
		"id,id\n":                              "twice",
		"id\n" + strings.Repeat("1\n", 10_001): "more than 10000 lines",
	} {
		if _, err := readTable([]byte(file), columns); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", file, err, want)
		}
	}
	got, err := readTable([]byte("\ufeff Name ,ID\r\n\"a\nb\",7\r\n'=x,\r\n"), columns)
	if err != nil || len(got.lines) != 2 || got.lines[0].cells["name"] != "a\nb" || got.lines[0].number != 2 ||
		got.lines[1].cells["name"] != "=x" || got.lines[1].number != 4 || got.lines[1].has("id") {
		t.Errorf("got %+v, %v; want the lines 2 and 4", got, err)
	}
	for file, want := range map[string]string{
		"id,name\n1,a\n2\n3,c\n": "the line has 1 cells, but the header has 2", "id,name\n1,a\n2,\"b\n": "a quote is not closed",
	} {
		got, err := readTable([]byte(file), columns)
		if err != nil || len(got.problems) != 1 || got.problems[0].Line != 3 ||
			!strings.Contains(got.problems[0].Message, want) {
			t.Errorf("%q: got %+v, %v; want one problem on line 3 with %q", file, got, err, want)
		}
	}
}

// An import is parsed or rejected with BadRequest. A table that is written and read again is unchanged, and no cell
// begins like a formula.
func FuzzTable(f *testing.F) {
	for _, file := range []string{
		"id,name\n1,a\n", "\ufeffname\n\"=1\"\"\"\n'+2\n", "id,name\n1,\"a\nb\"\n2", "name\n\xff\n", "NAME,name\n",
		"id;name\n1;2\n",
	} {
		f.Add([]byte(file))
	}
	columns := []string{"id", "name", "price"}
	f.Fuzz(func(t *testing.T, file []byte) {
		read, err := readTable(file, columns)
		if err != nil {
			if !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
				t.Fatal(err)
			}
			return
		}
		var lines [][]string
		for _, l := range read.lines {
			lines = append(lines, []string{l.cells["id"], l.cells["name"], l.cells["price"]})
		}
		want := make([][]string, len(lines))
		for i := range lines {
			want[i] = slices.Clone(lines[i])
		}
		written := writeTable(columns, lines)
		again, err := readTable(written, columns)
		if err != nil || len(again.problems) > 0 {
			t.Fatalf("the written table: got %v, %v; want a readable table", again, err)
		}
		plain, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(written, []byte(bom)))).ReadAll()
		if err != nil || len(plain) != len(want)+1 || len(again.lines) != len(want) {
			t.Fatalf("got %d lines, %v; want %d", len(again.lines), err, len(want))
		}
		for i, l := range again.lines {
			for j, column := range columns {
				if l.cells[column] != want[i][j] {
					t.Fatalf("got the cell %q, want %q", l.cells[column], want[i][j])
				}
				if cell := plain[i+1][j]; formula.MatchString(cell) {
					t.Fatalf("got the formula %q, want text", cell)
				}
			}
		}
	})
}
