package app

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every alarm and every check of the checklist links to an existing section of the runbook, by the anchor that Markdown
// readers and the console derive from its heading.
func TestRunbookHasWhatAlarmsAndChecksName(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../" + strings.TrimSuffix(runbook, "#"))
	must(t, err)
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
		AlarmNothingMoves, AlarmLagGrows, AlarmRedisAway, AlarmWritesRejected, AlarmDatabaseAway, AlarmEntryStuck,
		AlarmDeadLetters, AlarmClosed, AlarmSaleStuck, AlarmDatabaseRisk,
	} {
		if alarmParts[alarm] == "" {
			t.Errorf("the alarm %s leads nowhere", alarm)
		}
	}
}
