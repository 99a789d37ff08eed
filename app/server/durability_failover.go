package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/store"
)

var clusterWants = []redisWant{{
	"cluster-require-full-coverage", "no",
	"while one primary is away and has no replica, the partitions of all others stop as well", false,
}}

// failoverWeaknesses are what lets the loss of one server of Redis cost more than it has to.
func (s *stores) failoverWeaknesses(ctx context.Context, name string, server *redis.Client) (found []Weakness) {
	if _, ok := s.client.(*redis.ClusterClient); ok {
		found = redisWeaknesses(ctx, name, server, clusterWants)
	}
	info, err := server.Info(ctx, "replication").Result()
	if err != nil {
		if s.replicas > 0 {
			found = append(found, weaknessOf(name, store.WeakSetting{Risk: fmt.Sprintf(
				"how many replicas it has cannot be read (INFO replication): make sure that %d are online", s.replicas)}, false))
		}
		return found
	}
	if !strings.Contains(info, "role:master") {
		return found
	}
	online := strings.Count(info, "state=online")
	switch {
	case online < s.replicas:
		found = append(found, weaknessOf(name, store.WeakSetting{Risk: fmt.Sprintf(
			"%d replicas are online, and STAMPEDE_REDIS_REPLICAS is %d: buys on it are busy until as many are there",
			online, s.replicas)}, false))
	case s.replicas == 0 && online > 0:
		const setting = "min-replicas-to-write"
		if is, ok := redisSetting(ctx, server, setting); ok && is == "0" {
			const risk = "a replica that takes over may lack any number of buys that were answered" +
				" (STAMPEDE_REDIS_REPLICAS lets each of them wait for it)"
			weak := store.WeakSetting{Setting: setting, Is: is, Want: "1", Risk: risk}
			found = append(found, weaknessOf(name, weak, false))
		}
	}
	return found
}
