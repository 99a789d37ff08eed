//go:build !crashpoints

package server

import (
	"github.com/redis/go-redis/v9"

	"stampede/app/payment"
	"stampede/app/store"
)

// Builds with the tag crashpoints can crash at a call of a store or of the gateway. This build cannot, and rejects
// STAMPEDE_CRASH_AT as an unknown variable.

func setCrashPoint(map[string]string, *problems) {}

func hookStore(*store.Store) {}

func hookRedis(...redis.UniversalClient) {}

func hookGateway(g payment.Gateway) payment.Gateway { return g }
