//go:build !unix

package server

import (
	"os"
	"time"
)

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }

// lock cannot keep a second server off the folder on this system.
func lock(*os.File) error { return nil }
