package backoffice

import (
	"testing"

	"stampede/app/board"
	"stampede/app/test/fakes"
)

// Every check of the checklist links to an existing section of the runbook.
func TestChecksLinkToRunbookSections(t *testing.T) {
	t.Parallel()
	sections := fakes.RunbookAnchors(t)
	for name, section := range checkSections {
		if !sections[section] {
			t.Errorf("%s links to %s%s, which does not exist", name, board.Runbook, section)
		}
	}
}
