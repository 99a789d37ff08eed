package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/migrations"
	"stampede/streams"
)

// Weakness is a setting of a real store that is too weak for the promises.
type Weakness struct {
	Store   string `json:"store"`
	Message string `json:"message"` // the setting, its risk and the recommended value
	Refused bool   `json:"refused"` // the server does not start with it, unless STAMPEDE_ALLOW_WEAK_STORES is true

	setting store.WeakSetting
}

// MissingFeature is a required operation that fails on a store.
type MissingFeature struct {
	Store   string `json:"store"`
	Message string `json:"message"` // the attempted operation and the store's error
}

// missing tries every required operation and returns the failed operations. Migrations can run under another account.
// So privileges that only migrations need are reported only while migrations are pending.
func (s *stores) missing(ctx context.Context, c *Config) []MissingFeature {
	var found []MissingFeature
	for _, err := range streams.CheckCommands(ctx, s.client) {
		found = append(found, MissingFeature{"Redis", err.Error()})
	}
	pending, err := migrations.Pending(ctx, s.db.DB())
	if err != nil {
		return append(found, MissingFeature{"MySQL", "read the migrations: " + err.Error()})
	}
	for _, need := range s.db.Durability().Needs(ctx) {
		if need.Err != nil && (!need.Migrate || len(pending) > 0) {
			found = append(found, MissingFeature{"MySQL", need.Err.Error()})
		}
	}
	if len(pending) == 0 && (c.Roles.Worker || c.Roles.Sweeper) {
		if err := c.requireGateway(ctx, s.db); err != nil {
			found = append(found, MissingFeature{"MySQL", err.Error()})
		}
	}
	return found
}

// redisRequirement is a setting of Redis with its required value.
type redisRequirement struct {
	setting, want, risk string
	refused             bool
}

// redisRequirements lists the Redis settings that promise P2 requires.
var redisRequirements = []redisRequirement{
	{"appendonly", "yes", "a restart of Redis loses confirmed reservations", true},
	{"maxmemory-policy", "noeviction", "Redis may evict stock and reservations when memory is low", true},
	{"appendfsync", "always", "a power cut loses the last second of confirmed reservations", false},
	{"no-appendfsync-on-rewrite", "no", "a power cut during a rewrite loses confirmed reservations", false},
}

// maxClockSkew is the largest tolerated difference between the clocks of a cluster's primaries.
const maxClockSkew = 100 * time.Millisecond

// weaknesses checks the settings of Redis and MySQL. A managed Redis may hide settings: hidden settings are reported,
// but the server starts.
func (s *stores) weaknesses(ctx context.Context) ([]Weakness, error) {
	var found []Weakness
	err := s.eachServer(ctx, func(ctx context.Context, name string, server *redis.Client) error {
		found = append(found, redisWeaknesses(ctx, name, server, redisRequirements)...)
		found = append(found, s.failoverWeaknesses(ctx, name, server)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the settings of Redis: %w", err)
	}
	difference, err := streams.ClockDifference(ctx, s.client)
	if err == nil && difference > maxClockSkew {
		found = append(found, weaknessOf("Redis", store.WeakSetting{Risk: fmt.Sprintf(
			"the clocks of its primaries differ by %s: sales open and close that much earlier in some partitions than in "+
				"others; synchronise the clocks (NTP)", difference.Round(time.Millisecond))}, false))
	}
	settings, err := s.db.Durability().Weaknesses(ctx)
	for _, weak := range settings {
		found = append(found, weaknessOf("MySQL", weak, false))
	}
	return found, err
}

// settingsEvery is the time between two checks of the settings of Redis while the node runs.
const settingsEvery = 10 * time.Second

// watchSettings raises an alarm while a setting of Redis is one with which the node would not start: a setting may
// change while nodes run.
func (p *parts) watchSettings(ctx context.Context) error {
	return shop.Repeat(ctx, settingsEvery, "check the settings of Redis", func(ctx context.Context) error {
		weak := ""
		err := p.stores.eachServer(ctx, func(ctx context.Context, name string, server *redis.Client) error {
			for _, w := range redisWeaknesses(ctx, name, server, redisRequirements) {
				if w.Refused {
					weak = w.Store + ": " + w.Message
				}
			}
			return nil
		})
		if err == nil {
			p.board.weakSetting.Store(&weak)
		}
		return err
	})
}

func redisWeaknesses(
	ctx context.Context, name string, server *redis.Client, wants []redisRequirement,
) (found []Weakness) {
	for _, w := range wants {
		if value, ok := redisSetting(ctx, server, w.setting); value != w.want {
			weak := store.WeakSetting{Setting: w.setting, Is: value, Want: w.want, Risk: w.risk}
			found = append(found, weaknessOf(name, weak, w.refused && ok))
		}
	}
	return found
}

func weaknessOf(store string, weak store.WeakSetting, refused bool) Weakness {
	return Weakness{store, weak.String(), refused, weak}
}

// redisSetting returns "" and false for a setting that is hidden or unknown.
func redisSetting(ctx context.Context, client *redis.Client, name string) (string, bool) {
	values, err := client.ConfigGet(ctx, name).Result()
	value, ok := values[name]
	return value, ok && err == nil
}

// refuseWeak logs weaknesses. It returns an error for refused weaknesses, unless `allow` is true.
func refuseWeak(ctx context.Context, found []Weakness, allow bool) error {
	var refused []string
	for _, w := range found {
		if w.Refused && !allow {
			refused = append(refused, w.Store+": "+w.Message)
			continue
		}
		slog.WarnContext(ctx, "a store is weaker than the promises need", "store", w.Store, "what", w.Message)
	}
	if len(refused) > 0 {
		return fmt.Errorf("the stores cannot keep the promises:\n  %s\ncorrect these settings, or accept the risk with STAMPEDE_ALLOW_WEAK_STORES=true",
			strings.Join(refused, "\n  "))
	}
	return nil
}

var clusterRequirements = []redisRequirement{{
	"cluster-require-full-coverage", "no",
	"while one primary without a replica is down, the partitions of all other primaries also stop", false,
}}

// failoverWeaknesses reports settings that make the loss of one Redis server more severe than necessary.
func (s *stores) failoverWeaknesses(ctx context.Context, name string, server *redis.Client) (found []Weakness) {
	if _, ok := s.client.(*redis.ClusterClient); ok {
		found = redisWeaknesses(ctx, name, server, clusterRequirements)
	}
	info, err := server.Info(ctx, "replication").Result()
	if err != nil {
		if s.replicas > 0 {
			found = append(found, weaknessOf(name, store.WeakSetting{Risk: fmt.Sprintf(
				"the number of its replicas is unreadable (INFO replication): make sure that %d are online", s.replicas)}, false))
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
			"%d replicas are online, and STAMPEDE_REDIS_REPLICAS is %d: buys on it return busy until that number is online",
			online, s.replicas)}, false))
	case s.replicas == 0 && online > 0:
		const setting = "min-replicas-to-write"
		if value, ok := redisSetting(ctx, server, setting); ok && value == "0" {
			const risk = "a promoted replica may lack any number of confirmed buys" +
				" (with STAMPEDE_REDIS_REPLICAS, each buy waits for replicas)"
			weak := store.WeakSetting{Setting: setting, Is: value, Want: "1", Risk: risk}
			found = append(found, weaknessOf(name, weak, false))
		}
	}
	return found
}
