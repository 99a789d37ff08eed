package main

import (
	"strings"
	"testing"
)

func TestForbiddenPatternsAreReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, src string
		want      []string // line: what was found
	}{
		{"a.go", "package a\n\n// F tells the node.\nfunc F() {}\n", []string{"3: \"tells\""}},
		{"a.go", "package a\n\n// F notifies the node.\nfunc F() {}\n", nil},
		{"a.go", "package a\n\nvar err = \"nobody is there\"\n", []string{"3: \"nobody\""}},
		{"a.go", "package a\n\nvar code = \"nobody\"\n", nil},
		{"a.go", "package a\n\nfunc (s *T) MarkTold(heardAll int) {}\n", []string{"3: \"MarkTold\"", "3: \"heardAll\""}},
		{"a.go", "package a\n\nfunc F() { shelfDesk, err := 1, 2 }\n", []string{"3: \"shelfDesk\""}},
		{"a.go", "package a\n\n// The user `nobody` of nginx.\nvar x int\n", nil},
		{"a.go", "package a\n\n// nobody is the user of nginx (words:ok)\nvar x int\n", nil},
		{"a.go", "package a\n\n/* one\nWhat is due is read anew. */\nvar x int\n", []string{"4: \"What is\""}},
		{"a.md", "# A\n```\nwhat is this\n```\nIt goes round.\n", []string{"5: \"goes round\""}},
		{"a.lua", "local heard = 1 -- all the same\n", []string{"1: \"all the same\""}},
		{"a.sh", "x=$1 # in vain\necho 'in vain'\n", []string{"1: \"in vain\""}},
		{"a.ts", "const told = 1 // nobody\n", []string{"1: \"nobody\""}},
		{"a.yaml", "asked:\n  says: {enum: [told, parked], description: Nobody.}\n", []string{"2: \"Nobody\""}},
		{"a.go", "package a\n\nvar help = \"stampede backoffice parked list\"\n", nil},
		{"a.go", "package a\n\nvar help = \"the list of parked postings\"\n", []string{"3: \"parked\""}},
		{"a.png", "nobody\n", nil},
	} {
		got, err := check(c.path, []byte(c.src))
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%q: got %q, %v; want %q", c.src, got, err, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], c.path+":"+want) {
				t.Errorf("%q: got %q, want %q", c.src, got[i], want)
			}
		}
	}
}

func TestNamesAreSplitAtCapitals(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"toldUntil": "told until", "HTTPDesk": "httpdesk", "isAsked": "is asked", "heard2": "heard2", "DB": "db",
	} {
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
