package server

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisAddress returns the configured address.
func (c *Config) redisAddress() (redisAddress, error) {
	address, err := parseRedisURL(string(c.RedisURL))
	if err != nil {
		return redisAddress{}, fmt.Errorf("STAMPEDE_REDIS_URL %w", err)
	}
	if err := address.useCA(c.RedisCA); err != nil {
		return redisAddress{}, fmt.Errorf("STAMPEDE_REDIS_CA %w", err)
	}
	return address, nil
}

func (c *Config) checkRedis(p *problems) {
	address, err := parseRedisURL(string(c.RedisURL))
	if err != nil && c.RedisURL != "" {
		p.add("REDIS_URL", err.Error())
	}
	if err := address.useCA(c.RedisCA); err != nil {
		p.add("REDIS_CA", err.Error())
	}
}

// runningRedis returns the address for tools. With embedded stores it is read from the data folder of the running
// server.
func (c *Config) runningRedis() (redisAddress, error) {
	if !c.Embedded() {
		return c.redisAddress()
	}
	address, err := folder(c.Data).runningRedis()
	return singleAddress(&redis.Options{Addr: address}), err
}

// hostsText returns the hosts without user and password.
func (a *redisAddress) hostsText() string {
	hosts := strings.Join(a.Addrs, ",")
	switch {
	case a.IsClusterMode:
		return hosts + " (cluster)"
	case a.MasterName != "":
		return hosts + " (sentinels of " + a.MasterName + ")"
	}
	return hosts
}

// open returns a client with at most the given number of connections per server. The client never retries a command:
// the caller decides (I6). A cluster client follows moved slots with up to three retries. These retries are safe,
// because scripts have keys that detect repeats.
func (a *redisAddress) open(connections int) redis.UniversalClient {
	o := a.UniversalOptions
	o.MaxRetries = -1
	o.DialerRetries, o.ContextTimeoutEnabled, o.PoolSize = 1, true, connections
	o.DialTimeout, o.PoolTimeout = redisTimeout, redisTimeout
	o.ReadTimeout, o.WriteTimeout = redisTimeout, redisTimeout
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if !o.IsClusterMode {
		return redis.NewUniversalClient(&o)
	}
	options := o.Cluster()
	options.ClusterStateReloadInterval = slotsEvery
	client := redis.NewClusterClient(options)
	hook := &unreachableHook{cluster: client}
	client.OnNewNode(func(server *redis.Client) { server.AddHook(hook) })
	return client
}

const (
	// slotsEvery is the interval at which a cluster client reloads the slot map. A frozen primary still accepts
	// connections and never returns MOVED. The default of go-redis is one minute.
	slotsEvery = 5 * time.Second
	// minSlotsInterval is the minimum interval between two reloads caused by unreachable servers.
	minSlotsInterval = 500 * time.Millisecond
)

// unreachableHook reloads the slot map of a cluster client in the background when a server is unreachable: a replica
// may have been promoted.
type unreachableHook struct {
	cluster    *redis.ClusterClient
	reloadedAt atomic.Pointer[time.Time] // last reload; nil: never
}

// DialHook requests a reload after a failed dial.
func (u *unreachableHook) DialHook(dial redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			u.reload(ctx)
		}
		return conn, err
	}
}

// ProcessHook changes nothing.
func (u *unreachableHook) ProcessHook(process redis.ProcessHook) redis.ProcessHook { return process }

// ProcessPipelineHook changes nothing.
func (u *unreachableHook) ProcessPipelineHook(process redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return process
}

func (u *unreachableHook) reload(ctx context.Context) {
	last, now := u.reloadedAt.Load(), time.Now()
	if (last == nil || now.Sub(*last) >= minSlotsInterval) && u.reloadedAt.CompareAndSwap(last, &now) {
		u.cluster.ReloadState(ctx)
	}
}

// singleServer is the display name of a single server that has all partitions.
const singleServer = "Redis"

// eachServer calls the function `visit` for the single server, or sequentially for every server of a cluster. Replicas
// are included, because each replica may be promoted. name is "Redis", in a cluster followed by the address.
func (s *stores) eachServer(
	ctx context.Context, visit func(ctx context.Context, name string, server *redis.Client) error,
) error {
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		var serial sync.Mutex
		return c.ForEachShard(ctx, func(ctx context.Context, server *redis.Client) error {
			serial.Lock()
			defer serial.Unlock()
			return visit(ctx, "Redis "+server.Options().Addr, server)
		})
	case *redis.Client:
		return visit(ctx, singleServer, c)
	}
	return fmt.Errorf("unsupported Redis client type %T", s.client)
}
