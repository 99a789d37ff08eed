//go:build !unix

package server

import (
	"os"
	"time"
)

// cpuTime is not available on this system.
func cpuTime() time.Duration { return 0 }

// fileLimit is not available on this system.
func fileLimit() uint64 { return 0 }

// lock does nothing on this system: a second server on the folder is not detected.
func lock(*os.File) error { return nil }
