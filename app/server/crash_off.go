//go:build !crashpoints

package server

import (
	"github.com/redis/go-redis/v9"

	"stampede/app/payment"
	"stampede/app/store"
)

// A build for the crash suite can be told to die at a call of a store or of the gateway. This one cannot:
// STAMPEDE_CRASH_AT is a variable that it does not know.

func armCrash(map[string]string, *problems) {}

func hookStore(*store.Store) {}

func hookRedis(...redis.UniversalClient) {}

func hookGateway(g payment.Gateway) payment.Gateway { return g }
