package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const program = "a\n\tif b {\n\t\tc\n\t}\nd\n\tif b {\n\t\te\n\t}\n"

func TestEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ edit, want, fails string }{
		"one line":     {edit: "- c\n+ x", want: "a\n\tif b {\nx\n\t}\nd\n\tif b {\n\t\te\n\t}\n"},
		"deleted line": {edit: "- c", want: "a\n\tif b {\n\t}\nd\n\tif b {\n\t\te\n\t}\n"},
		"block": {
			edit: "- if b {\n- e\n+ if b && f {\n+ e",
			want: "a\n\tif b {\n\t\tc\n\t}\nd\nif b && f {\ne\n\t}\n",
		},
		"two parts":   {edit: "- a\n+ A\n\n- d\n+ D", want: "A\n\tif b {\n\t\tc\n\t}\nD\n\tif b {\n\t\te\n\t}\n"},
		"no match":    {edit: "- z\n+ x", fails: `no match for "z"`},
		"two matches": {edit: "- if b {\n+ x", fails: "lines 2 and 6"},
		"no old line": {edit: "+ x", fails: "without old lines"},
		"empty":       {edit: "", fails: "no parts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, edit := filepath.Join(dir, "file"), filepath.Join(dir, "a.edit")
			for path, text := range map[string]string{
				file: program, edit: "Defect: d\nFile: " + file + "\n\n" + c.edit + "\n",
			} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := run(edit, true)
			if untouched, _ := os.ReadFile(file); string(untouched) != program {
				t.Fatalf("the check changed the file to %q", untouched)
			}
			if err == nil {
				err = run(edit, false)
			}
			got, _ := os.ReadFile(file)
			switch {
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || string(got) != program):
				t.Errorf("got %v and %q, want the error %q and no change", err, got, c.fails)
			case c.fails == "" && (err != nil || string(got) != c.want):
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
