package server

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisAddress is the address that the configuration names.
func (c *Config) redisAddress() (redisAddress, error) {
	address, err := parseRedisURL(string(c.RedisURL))
	if err != nil {
		return redisAddress{}, fmt.Errorf("STAMPEDE_REDIS_URL %w", err)
	}
	if err := address.trust(c.RedisCA); err != nil {
		return redisAddress{}, fmt.Errorf("STAMPEDE_REDIS_CA %w", err)
	}
	return address, nil
}

func (c *Config) checkRedisCA() string {
	address, _ := parseRedisURL(string(c.RedisURL)) // which is checked by itself
	if err := address.trust(c.RedisCA); err != nil {
		return err.Error()
	}
	return ""
}

// runningRedis is the address for programs beside a server: with embedded stores, where the server has noted it.
func (c *Config) runningRedis() (redisAddress, error) {
	if !c.Embedded() {
		return c.redisAddress()
	}
	address, err := folder(c.Data).runningRedis()
	return singleAddress(&redis.Options{Addr: address}), err
}

// where names the hosts, without the account.
func (a *redisAddress) where() string {
	hosts := strings.Join(a.Addrs, ",")
	switch {
	case a.IsClusterMode:
		return hosts + " (cluster)"
	case a.MasterName != "":
		return hosts + " (sentinels of " + a.MasterName + ")"
	}
	return hosts
}

// open makes a client with at most so many connections to each server. It never repeats a command by itself: whoever
// may repeat one knows why (I6). A cluster's client does, up to three times: it follows a slot that has moved by the
// same means; scripts carry their identity for that.
func (a *redisAddress) open(connections int) redis.UniversalClient {
	o := a.UniversalOptions
	o.MaxRetries = -1
	o.DialerRetries, o.ContextTimeoutEnabled = 1, true
	o.DialTimeout, o.PoolTimeout = redisTimeout, redisTimeout
	o.ReadTimeout, o.WriteTimeout = redisTimeout, redisTimeout
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.PoolSize = connections
	return redis.NewUniversalClient(&o)
}

// oneServer is what a server is called that has all partitions.
const oneServer = "Redis"

// eachServer asks every server of a cluster, one at a time, replicas too, because any of them may be promoted; or the
// one server. name is what to call it: "Redis", and in a cluster its address behind that.
func (s *stores) eachServer(
	ctx context.Context, ask func(ctx context.Context, name string, server *redis.Client) error,
) error {
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		var one sync.Mutex
		return c.ForEachShard(ctx, func(ctx context.Context, server *redis.Client) error {
			one.Lock()
			defer one.Unlock()
			return ask(ctx, "Redis "+server.Options().Addr, server)
		})
	case *redis.Client:
		return ask(ctx, oneServer, c)
	}
	return fmt.Errorf("a Redis client of type %T", s.client)
}
