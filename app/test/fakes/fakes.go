package fakes

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// RunbookParts returns the anchors of the runbook's headings, as Markdown renderers and the console derive them.
func RunbookParts(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../deploy/RUNBOOK.md")
	Must(t, err)
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
