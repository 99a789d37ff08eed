//go:build cluster

package cluster

import (
	"testing"

	"stampede/app/test/kit"
)

// binary is the program as it ships, built once.
var binary string

func TestMain(m *testing.M) { kit.MainWith(m, &binary) }
