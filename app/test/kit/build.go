package kit

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
)

const program = "stampede/app/cmd/stampede"

// Build compiles the program to the given path with the flags of deploy/scripts/build.sh: the tests run the program
// that ships, and the compiler finds its dependencies in the build cache.
func Build(path string, flags ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", path}, flags, []string{program})...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}
