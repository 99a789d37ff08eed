package kit

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
)

const program = "stampede/app/cmd/stampede"

// Build compiles the program to path with the flags of deploy/scripts/build.sh, so that tests run the shipped program
// and the build cache is reused. env adds environment variables for the compiler.
func Build(path string, env []string, flags ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", path}, flags, []string{program})...)
	cmd.Env = slices.Concat(os.Environ(), []string{"CGO_ENABLED=0"}, env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}
