//go:build cluster

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"stampede/app/test/kit"
)

// binary is the program as it ships, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "stampede-cluster-")
	if err == nil {
		binary = filepath.Join(dir, "stampede")
		err = kit.Build(binary)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	kit.Main(m)
}
