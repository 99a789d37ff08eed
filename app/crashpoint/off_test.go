//go:build !crashpoints

package crashpoint

import (
	"slices"
	"testing"
)

// A shipped program cannot be armed, and passing a point does nothing.
func TestShippedProgramHasNoCrashPoints(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(Names, MoneyNames) {
		if Arm(name) == nil {
			t.Errorf("a normal build can be armed at %s", name)
		}
		At(name)
	}
}
