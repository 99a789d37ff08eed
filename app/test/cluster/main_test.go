//go:build cluster

package cluster

import (
	"testing"

	"stampede/app/test/kit"
)

// binary is the path of the program, built once with the shipped flags.
var binary string

func TestMain(m *testing.M) { kit.MainWith(m, &binary) }
