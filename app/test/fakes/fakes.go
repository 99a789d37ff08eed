package fakes

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// RunbookAnchors returns the anchors of the runbook's headings, as Markdown renderers and the console derive them.
func RunbookAnchors(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../deploy/RUNBOOK.md")
	Must(t, err)
	punctuation := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	anchors := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if level, heading, is := strings.Cut(line, " "); is && strings.Trim(level, "#") == "" && level != "" {
			name := punctuation.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			anchors[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return anchors
}
