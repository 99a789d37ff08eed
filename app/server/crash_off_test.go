//go:build !crashpoints

package server

import (
	"strings"
	"testing"

	"stampede/app/test/faults"
)

// TestShippedProgramHasNoCrashPoints: a shipped program rejects STAMPEDE_CRASH_AT as unknown.
func TestShippedProgramHasNoCrashPoints(t *testing.T) {
	t.Parallel()
	for _, point := range faults.Names() {
		_, err := Load([]string{"STAMPEDE_CRASH_AT=" + point})
		if err == nil || !strings.Contains(err.Error(), "STAMPEDE_CRASH_AT is not a variable") {
			t.Errorf("crash point %s: got %v, want an unknown variable", point, err)
		}
	}
}
