package kit

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
)

const program = "stampede/app/cmd/stampede"

// Build compiles the program to the given path with the flags of deploy/scripts/build.sh: the tests run the program
// that ships, and the compiler finds its dependencies in the build cache. env has further variables of the compiler.
func Build(path string, env []string, flags ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", path}, flags, []string{program})...)
	cmd.Env = slices.Concat(os.Environ(), []string{"CGO_ENABLED=0"}, env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}
