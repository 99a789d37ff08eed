package main

import (
	"regexp"
	"strings"
	"testing"
)

// Orders, payments and people are searched for, and what needs a server says so; wrong arguments are told apart.
func TestAfterwards(t *testing.T) {
	t.Parallel()
	environ := []string{"STAMPEDE_DATA=" + t.TempDir()}
	const secret = "a pony in the rain"
	for _, step := range []struct {
		args, in string
		code     int
		says     string // a pattern in what is printed
	}{
		{"order list", "", exitOK, `^no orders\n$`},
		{"order list 7301444480512000257 --state paid --json", "", exitOK, `^\[\]\n$`},
		{"order list --state reserved", "", exitUsage, `--state`},
		{"order list --limit 0", "", exitUsage, `--limit`},
		{"pay list", "", exitOK, `^no payments\n$`},
		{"pay list T1 --state late --json", "", exitOK, `^\[\]\n$`},
		{"pay list --state x", "", exitUsage, `--state`},
		{"user add ada@shop.example --name Ada --password --by eve", secret, exitOK, `added`},
		{"user list ada@", "", exitOK, `ada@shop\.example`},
		{"user list Ada", "", exitOK, `ada@shop\.example`},
		{"user list bob", "", exitOK, `nobody`},
		{"user list ada --role admin", "", exitUsage, `--role`},
		{"order ship 7 --carrier SF --tracking SF1", "", exitFailed, `server`},
		{"order ship 7 --carrier SF", "", exitUsage, `--tracking`},
		{"order ship-many -", "order,carrier,tracking\n", exitFailed, `server`},
		{"order ship-many nowhere.csv", "", exitFailed, `nowhere\.csv`},
		{"report 7", "", exitFailed, `server`},
	} {
		code, out, errOut := callWith(t, step.in, environ, strings.Fields(step.args)...)
		if code != step.code || !regexp.MustCompile(step.says).MatchString(out+errOut) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", step.args, code, step.code, step.says, out, errOut)
		}
	}
}
