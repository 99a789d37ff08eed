package kit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// RedisCluster is a cluster of private servers: primaries with equal slot ranges, and their replicas.
type RedisCluster struct {
	t         testing.TB
	tls       *Certificate
	URL       string // in the format of STAMPEDE_REDIS_URL
	Primaries []*RedisServer
	Replicas  []*RedisServer // replica i follows primary i modulo the number of primaries
}

// clusterSlots is the number of hash slots in a Redis Cluster.
const clusterSlots = 16384

// ClusterOptions configures a private cluster.
type ClusterOptions struct {
	Primaries, Replicas int
	TLS                 *Certificate // for clients and between servers; nil: no encryption
	Args                []string     // additional arguments of every server
}

// StartRedisCluster starts a cluster that ends with the test. It returns when all servers are ready. A replica replaces
// a primary that has not responded for two seconds.
func StartRedisCluster(t testing.TB, primaries, replicas int) *RedisCluster {
	t.Helper()
	return StartRedisClusterWith(t, ClusterOptions{Primaries: primaries, Replicas: replicas})
}

// StartRedisClusterWith is StartRedisCluster with more options.
func StartRedisClusterWith(t testing.TB, o ClusterOptions) *RedisCluster {
	t.Helper()
	c := &RedisCluster{t: t, tls: o.TLS}
	primaries := o.Primaries
	var hosts []string
	var buses []int // cluster bus ports
	for i := range primaries + o.Replicas {
		bus, err := freePort()
		if err != nil {
			t.Fatalf("kit: cluster: %v", err)
		}
		tlsArgs, port := o.TLS.redisArgs(t, "--tls-cluster", "yes", "--tls-replication", "yes")
		s := StartRedis(t, RedisOptions{Durable: true, Args: slices.Concat([]string{
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "2000",
			"--cluster-require-full-coverage", "no", "--cluster-port", strconv.Itoa(bus),
		}, tlsArgs, o.Args)})
		s.securePort = port
		if i < primaries {
			c.Primaries = append(c.Primaries, s)
		} else {
			c.Replicas = append(c.Replicas, s)
		}
		hosts, buses = append(hosts, s.Addr()), append(buses, bus)
	}
	c.URL = o.TLS.scheme("redis-cluster") + strings.Join(hosts, ",")
	for i, primary := range c.Primaries {
		from, to := i*clusterSlots/primaries, (i+1)*clusterSlots/primaries-1
		primary.Do("CLUSTER", "ADDSLOTSRANGE", from, to)
		primary.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
	}
	for i, s := range c.servers()[1:] {
		host, port, err := net.SplitHostPort(s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.Primaries[0].Do("CLUSTER", "MEET", host, port, buses[i+1])
	}
	for i, replica := range c.Replicas {
		id := fmt.Sprint(c.Primaries[i%primaries].Do("CLUSTER", "MYID"))
		Eventually(t, startTimeout, func() (bool, string) {
			_, err := c.try(replica, "CLUSTER", "REPLICATE", id)
			return err == nil, fmt.Sprintf("CLUSTER REPLICATE: %v", err)
		})
	}
	c.awaitReady()
	return c
}

// awaitReady waits until every server sees all slots and all nodes, and every replica is linked to its primary.
func (c *RedisCluster) awaitReady() {
	c.t.Helper()
	all := c.servers()
	Eventually(c.t, startTimeout, func() (bool, string) {
		for _, s := range all {
			info, err := c.try(s, "CLUSTER", "INFO")
			text := fmt.Sprint(info)
			if err != nil || !strings.Contains(text, "cluster_state:ok") ||
				!strings.Contains(text, fmt.Sprintf("cluster_slots_ok:%d", clusterSlots)) ||
				!strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d", len(all))) {
				return false, fmt.Sprintf("%s: %s, %v", s.Addr(), text, err)
			}
		}
		for _, s := range c.Replicas {
			info, err := c.try(s, "INFO", "replication")
			if err != nil || !strings.Contains(fmt.Sprint(info), "master_link_status:up") {
				return false, fmt.Sprintf("%s: %v, %v", s.Addr(), info, err)
			}
		}
		return true, ""
	})
}

func (c *RedisCluster) servers() []*RedisServer {
	return slices.Concat(c.Primaries, c.Replicas)
}

func (c *RedisCluster) try(s *RedisServer, command ...any) (any, error) {
	c.t.Helper()
	client := s.client()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return client.Do(ctx, command...).Result()
}

// Addr returns the host:port for clients. With TLS it is the TLS port.
func (s *RedisServer) Addr() string {
	if s.securePort != 0 {
		return loopback(s.securePort)
	}
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return o.Addr
}

// Do runs a command on this server over an unencrypted connection. An error reply fails the test.
func (s *RedisServer) Do(command ...any) any {
	s.t.Helper()
	client := s.client()
	defer client.Close()
	reply, err := client.Do(Context(s.t), command...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatalf("kit: %v of %s: %v", command, s.URL, err)
	}
	return reply
}
