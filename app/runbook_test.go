package app

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// runbookParts are the anchors of the runbook's headings, as Markdown readers and the console derive them.
func runbookParts(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../deploy/RUNBOOK.md")
	must(t, err)
	marks := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	parts := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if level, heading, is := strings.Cut(line, " "); is && strings.Trim(level, "#") == "" && level != "" {
			name := marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			parts[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return parts
}

// Every alarm links to an existing section of the runbook.
func TestRunbookHasWhatAlarmsName(t *testing.T) {
	t.Parallel()
	parts := runbookParts(t)
	for name, part := range alarmParts {
		if !parts[part] {
			t.Errorf("%s leads to %s%s, which is not there", name, runbook, part)
		}
	}
	for _, alarm := range []string{
		AlarmNothingMoves, AlarmLagGrows, AlarmRedisAway, AlarmWritesRejected, AlarmDatabaseAway, AlarmEntryStuck,
		AlarmDeadLetters, AlarmClosed, AlarmSaleStuck, AlarmDatabaseRisk,
	} {
		if alarmParts[alarm] == "" {
			t.Errorf("the alarm %s leads nowhere", alarm)
		}
	}
}

// Every check of the checklist links to an existing section of the runbook.
func TestRunbookHasWhatChecksName(t *testing.T) {
	t.Parallel()
	parts := runbookParts(t)
	for name, part := range checkParts {
		if !parts[part] {
			t.Errorf("%s leads to %s%s, which is not there", name, runbook, part)
		}
	}
}
