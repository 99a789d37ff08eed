package crashpoint

import (
	"slices"
	"testing"
)

// A name that is listed twice would be killed at one place and believed of two.
func TestNamesAreDistinct(t *testing.T) {
	t.Parallel()
	all := slices.Concat(Names, MoneyNames)
	sorted := slices.Sorted(slices.Values(all))
	if len(slices.Compact(sorted)) != len(all) {
		t.Errorf("a name stands twice in %v", all)
	}
}
