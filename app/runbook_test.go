package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every alarm and every check of the checklist leads to a part of the runbook that there is, by the anchor that readers
// of Markdown give its heading; the console shows the same parts.
func TestRunbookHasWhatAlarmsAndChecksName(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../" + strings.TrimSuffix(runbook, "#"))
	if err != nil {
		t.Fatal(err)
	}
	marks := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	parts := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if level, heading, is := strings.Cut(line, " "); is && strings.Trim(level, "#") == "" && level != "" {
			name := marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			parts[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	for _, named := range []map[string]string{alarmParts, checkParts} {
		for name, part := range named {
			if !parts[part] {
				t.Errorf("%s leads to %s%s, which is not there", name, runbook, part)
			}
		}
	}
	for _, alarm := range []string{
		AlarmNothingMoves, AlarmLagGrows, AlarmRedisAway, AlarmDatabaseAway, AlarmDeadLetters,
	} {
		if alarmParts[alarm] == "" {
			t.Errorf("the alarm %s leads nowhere", alarm)
		}
	}
}

// Every drill has its part of the runbook, with what it has shown in between its marks: commands, and the audit that
// ends it.
func TestRunbookShowsEveryDrill(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../" + strings.TrimSuffix(runbook, "#"))
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]string)
	drill := regexp.MustCompile(`(?s)\n### Drill: [^\n]+\n\n([^\n]+\n)+\n` +
		`<!-- drill ([a-z-]+): begin [^\n]*-->\n(.*?)<!-- drill ([a-z-]+): end -->\n`)
	for _, part := range drill.FindAllStringSubmatch(string(text), -1) {
		if part[2] != part[4] {
			t.Errorf("%s begins, %s ends", part[2], part[4])
		}
		shown[part[2]] = part[3]
	}
	scripts, err := filepath.Glob("../deploy/drills/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".sh")
		if name == "run" || name == "common" {
			continue
		}
		says := shown[name]
		if !strings.HasPrefix(says, "```console\n") || !strings.Contains(says, "\n$ stampede audit | tail -n 1\n") ||
			!strings.HasSuffix(says, " sales audited, 0 failed\n```\n") {
			t.Errorf("%s is not shown: just drills --write", name)
		}
		delete(shown, name)
	}
	for name := range shown {
		t.Errorf("the drill %s is shown, and there is none", name)
	}
}
