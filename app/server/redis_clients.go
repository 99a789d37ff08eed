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

func (c *Config) checkRedis(p *problems) {
	address, err := parseRedisURL(string(c.RedisURL))
	if err != nil && c.RedisURL != "" {
		p.add("REDIS_URL", err.Error())
	}
	if err := address.trust(c.RedisCA); err != nil {
		p.add("REDIS_CA", err.Error())
	}
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

// open makes a client with at most so many connections to each server. It never repeats a command: the caller decides
// (I6). A cluster's client repeats up to three times to follow moved slots; scripts carry their identity for that.
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
	ofCluster := o.Cluster()
	ofCluster.ClusterStateReloadInterval = slotsEvery
	client := redis.NewClusterClient(ofCluster)
	lost := &lostServers{cluster: client}
	client.OnNewNode(func(server *redis.Client) { server.AddHook(lost) })
	return client
}

const (
	// slotsEvery is how often a cluster's client always reads where slots are: a frozen primary still takes connections
	// and never returns MOVED. The default of go-redis is a minute.
	slotsEvery = 5 * time.Second
	// slotsSoonest is the least time between two reads because a server cannot be reached.
	slotsSoonest = 500 * time.Millisecond
)

// lostServers has a cluster's client read where slots are, in the background, when one of its servers cannot be
// reached: a replica may have been promoted.
type lostServers struct {
	cluster *redis.ClusterClient
	asked   atomic.Pointer[time.Time] // nil: never
}

// DialHook looks at connections that could not be made.
func (l *lostServers) DialHook(dial redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			l.ask(ctx)
		}
		return conn, err
	}
}

// ProcessHook leaves commands alone.
func (l *lostServers) ProcessHook(process redis.ProcessHook) redis.ProcessHook { return process }

// ProcessPipelineHook leaves pipelines alone.
func (l *lostServers) ProcessPipelineHook(process redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return process
}

func (l *lostServers) ask(ctx context.Context) {
	last, now := l.asked.Load(), time.Now()
	if (last == nil || now.Sub(*last) >= slotsSoonest) && l.asked.CompareAndSwap(last, &now) {
		l.cluster.ReloadState(ctx)
	}
}

// oneServer is what a server is called that has all partitions.
const oneServer = "Redis"

// eachServer calls ask for the one server, or for every server of a cluster, one at a time; replicas too, because any
// may be promoted. name is "Redis", in a cluster with the address behind it.
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
