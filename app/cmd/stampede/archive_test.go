package main

import (
	"regexp"
	"strings"
	"testing"
)

// The state of the archive is shown without a server, months are dropped as an act, and what is no month is refused.
func TestArchiveCommand(t *testing.T) {
	t.Parallel()
	environ := []string{"STAMPEDE_DATA=" + t.TempDir(), "STAMPEDE_PERSONAL_DATA_AFTER=8760h"}
	for _, step := range []struct {
		args string
		code int
		says string // a pattern in what is printed
	}{
		{"archive status", exitOK, `^archived after 2160h0m0s, blanked after 8760h0m0s\ndue: 0 sales.*\nin the archive: 0 orders\n$`},
		{"archive status --json", exitOK, `"orders": 0,(.|\n)*"months": \[\]`},
		{"archive run", exitFailed, `no server`},
		{"archive drop", exitUsage, `--before`},
		{"archive drop --before 2026", exitUsage, `"2026" is no month: want one like 2026-11`},
		{"archive drop --before 2999-01", exitFailed, `2999-01 is not over`},
		{"archive drop --before 2026-03 --dry-run --json", exitOK, `"dry_run": true,\n  "months": \[\]`},
		{"journal list", exitOK, `^nothing was done\n$`},
		{"archive drop --before 2026-03 --by ada", exitOK, `^the archive has no month before 2026-03\n$`},
		{"journal list", exitOK, `ada.*archive\.drop +archive `},
	} {
		code, out, errOut := call(t, environ, strings.Fields(step.args)...)
		if code != step.code || !regexp.MustCompile(step.says).MatchString(out+errOut) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", step.args, code, step.code, step.says, out, errOut)
		}
	}
	code, _, errOut := call(t, append(environ, "STAMPEDE_ARCHIVE_AFTER=24h"), "archive", "status")
	if code != exitUsage || !strings.Contains(errOut, "STAMPEDE_ARCHIVE_AFTER") || !strings.Contains(errOut, "48h") {
		t.Errorf("a day: code %d, %s", code, errOut)
	}
}
