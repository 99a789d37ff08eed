//go:build !crashpoints

package server

import "github.com/redis/go-redis/v9"

// A build for the crash suite can be told to die, and puts what does it between the flows and their ports. This one
// cannot: STAMPEDE_CRASH_AT is a variable that it does not know.

func armCrash(map[string]string, *problems) {}

func withFaults(p storePorts) storePorts { return p }

func hookScripts(...redis.UniversalClient) {}
