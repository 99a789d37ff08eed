//go:build crashpoints

package crashpoint

import "testing"

func TestSpecNamesPointAndPass(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]int64{GateCall: 1, FinishReply + "#3": 3} {
		if _, pass, err := parse(spec); err != nil || pass != want {
			t.Errorf("%s: pass %d, %v; want %d", spec, pass, err, want)
		}
	}
	for _, spec := range []string{"", "gate", GateCall + "#0", GateCall + "#", GateCall + "#x"} {
		if _, _, err := parse(spec); err == nil {
			t.Errorf("%q is accepted", spec)
		}
	}
}
