package kit

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
)

const program = "stampede/app/cmd/stampede"

// Build compiles the program to the path given, with the flags of deploy/scripts/build.sh: it is what ships, and the
// compiler finds all that it imports in its cache, instead of compiling it once more in another form. The race detector
// needs cgo; what is built with it shares with the tests (deploy/scripts/go-test.sh).
func Build(path string, flags ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", path}, flags, []string{program})...)
	if !slices.Contains(flags, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}
