package kit

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const program = "stampede/app/cmd/stampede"

// Build compiles the program to the path given, with the flags of deploy/scripts/build.sh: it is what ships, and the
// compiler finds all that it imports in its cache, instead of compiling it once more in another form. The race detector
// needs cgo; what is built with it has the flags of the tests, which deploy/scripts/go-test.sh names, for the same
// reason.
func Build(path string, flags ...string) error {
	raced := slices.Contains(flags, "-race")
	if raced {
		flags = append(slices.Clone(flags), raceFlags()...)
	}
	cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", path}, flags, []string{program})...)
	if !raced {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}

// raceFlags are one a line; they have spaces in them.
func raceFlags() []string {
	return strings.FieldsFunc(os.Getenv("STAMPEDE_TEST_RACE_FLAGS"), func(r rune) bool { return r == '\n' })
}
