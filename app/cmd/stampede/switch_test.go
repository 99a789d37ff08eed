package main

import (
	"regexp"
	"strings"
	"testing"
)

// Switches are turned and notices said on embedded stores as on real ones; both are in the journal.
func TestSwitchesAndNotice(t *testing.T) {
	t.Parallel()
	environ := []string{"STAMPEDE_DATA=" + t.TempDir()}
	for _, step := range []struct {
		args string
		code int
		says string // a pattern in what is printed
	}{
		{"switch show", exitOK, `(?s)tick-ms +100\nhttp-buy +true\nleast-challenge +none\nlists +live\nwork-bits +16`},
		{"switch set --tick-ms 500 --no-http-buy --work-bits 18 --by ada", exitOK, `(?s)500\n.*false\n.*18`},
		{"switch set --lists cached --least-challenge work --json", exitOK, `"version": 2`},
		{"switch show", exitOK, `(?s)tick-ms +500\nhttp-buy +false\nleast-challenge +work\nlists +cached\nwork-bits +18`},
		{"switch set --tick-ms 50", exitFailed, `100 to 2000`},
		{"switch set --lists none", exitFailed, `live or cached`},
		{"switch set --least-challenge hard", exitFailed, `entry check`},
		{"notice end", exitFailed, `there is no notice`},
		{"notice say Kettles --for 1h --json", exitOK, `(?s)"level": "info".*"until": \d+`},
		{"notice say 水壶 --lang zh --json", exitOK, `(?s)"text": "Kettles".*"zh": "水壶"`},
		{"notice say Slow --lang Z", exitFailed, `two or three small letters`},
		{"notice say Slow --warn", exitOK, `within a second`},
		{"notice say " + strings.Repeat("x", 301), exitFailed, `300 characters`},
		{"notice end", exitOK, `any more`},
		{"journal list", exitOK, `(?s)notice\.take_back.*notice\.say.*notice\.say.*notice\.say.*switches\.edit.*ada.*switches\.edit`},
		{"journal verify", exitOK, `^6 rows fit`},
	} {
		code, out, errOut := call(t, environ, strings.Fields(step.args)...)
		if code != step.code || !regexp.MustCompile(step.says).MatchString(out+errOut) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", step.args, code, step.code, step.says, out, errOut)
		}
	}
}
