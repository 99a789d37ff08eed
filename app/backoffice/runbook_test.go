package backoffice

import (
	"testing"

	"stampede/app/board"
	"stampede/app/test/fakes"
)

// Every check of the checklist links to an existing section of the runbook.
func TestChecksLinkToRunbookSections(t *testing.T) {
	t.Parallel()
	parts := fakes.RunbookAnchors(t)
	for name, part := range checkSections {
		if !parts[part] {
			t.Errorf("%s links to %s%s, which does not exist", name, board.Runbook, part)
		}
	}
}
