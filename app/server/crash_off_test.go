//go:build !crashpoints

package server

import (
	"strings"
	"testing"

	"stampede/app/test/faults"
)

// A shipped program cannot be told to die: the variable is one that it does not know.
func TestShippedProgramHasNoCrashPoints(t *testing.T) {
	t.Parallel()
	for _, point := range faults.Names() {
		_, err := Load([]string{"STAMPEDE_CRASH_AT=" + point})
		if err == nil || !strings.Contains(err.Error(), "STAMPEDE_CRASH_AT is not a variable") {
			t.Errorf("armed at %s: %v", point, err)
		}
	}
}
