package crashpoint

import (
	"slices"
	"testing"
)

// A name that is listed twice would be killed at one place and believed of two.
func TestNamesAreDistinct(t *testing.T) {
	t.Parallel()
	sorted := slices.Sorted(slices.Values(Names))
	if len(slices.Compact(sorted)) != len(Names) {
		t.Errorf("a name stands twice in %v", Names)
	}
}
