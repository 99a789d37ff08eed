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

// RedisCluster are private servers that form a cluster: primaries with equal ranges of slots, and replicas of them.
type RedisCluster struct {
	t         testing.TB
	tls       *Certificate
	URL       string // as STAMPEDE_REDIS_URL names it
	Primaries []*RedisServer
	Replicas  []*RedisServer // the i-th follows primary i modulo their number
}

// clusterSlots is how many slots a cluster deals out.
const clusterSlots = 16384

// ClusterOptions say what a private cluster is made of.
type ClusterOptions struct {
	Primaries, Replicas int
	TLS                 *Certificate // clients and servers encrypt; nil: nobody does
	Args                []string     // more settings of every server
}

// StartRedisCluster starts a cluster that ends with the test, and returns when all of it serves. A replica whose
// primary is silent for two seconds takes its place.
func StartRedisCluster(t testing.TB, primaries, replicas int) *RedisCluster {
	t.Helper()
	return StartRedisClusterWith(t, ClusterOptions{Primaries: primaries, Replicas: replicas})
}

// StartRedisClusterWith is StartRedisCluster with more to choose.
func StartRedisClusterWith(t testing.TB, o ClusterOptions) *RedisCluster {
	t.Helper()
	c := &RedisCluster{t: t, tls: o.TLS}
	primaries := o.Primaries
	var hosts []string
	var buses []int // the ports on which they talk to each other
	for i := range primaries + o.Replicas {
		bus, err := freePort()
		if err != nil {
			t.Fatalf("kit: cluster: %v", err)
		}
		secure, port := o.TLS.settings(t, "--tls-cluster", "yes", "--tls-replication", "yes")
		s := StartRedis(t, RedisOptions{Durable: true, Args: slices.Concat([]string{
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "2000",
			"--cluster-require-full-coverage", "no", "--cluster-port", strconv.Itoa(bus),
		}, secure, o.Args)})
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
	for i, s := range c.servers()[1:] { // they get to know each other
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
	c.serves()
	return c
}

// serves waits until every server knows all slots and every replica has its primary's data.
func (c *RedisCluster) serves() {
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

// Addr is where clients reach the server, host:port; with TLS, its own port for that.
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

// Do gives the server a command by itself, without any encryption, and fails the test when it is refused.
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
