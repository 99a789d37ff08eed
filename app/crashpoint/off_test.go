//go:build !crashpoints

package crashpoint

import "testing"

// A shipped program cannot be armed, and passing a point costs nothing.
func TestShippedProgramHasNoCrashPoints(t *testing.T) {
	t.Parallel()
	if Arm(GateCall) == nil {
		t.Error("a normal build can be armed")
	}
	if n := testing.AllocsPerRun(100, func() { At(GateCall) }); n != 0 {
		t.Errorf("a point allocates %v times", n)
	}
}
