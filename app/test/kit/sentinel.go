package kit

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// primaryName is the name of the primary in the sentinels' configuration.
const primaryName = "shop"

// SentinelOptions configures a private group of servers that three sentinels monitor.
type SentinelOptions struct {
	Replicas int
	TLS      *Certificate // for clients, servers and sentinels; nil: no encryption
	Args     []string     // additional arguments of every server
	User     string       // ACL line for the sentinels, "user name on >secret …"; empty: none
}

// Sentinels is a group of three sentinels, a primary and its replicas. The sentinels promote a replica if the primary
// does not respond for one second.
type Sentinels struct {
	t         testing.TB
	Hosts     string // of the sentinels: host:port,host:port,host:port
	Primary   *RedisServer
	Replicas  []*RedisServer
	sentinels []string // addresses without TLS
}

// Name returns the name of the primary in the sentinels' configuration.
func (s *Sentinels) Name() string { return primaryName }

// StartSentinels starts all servers. It returns when every replica is linked to the primary and every sentinel sees all
// other sentinels and replicas.
func StartSentinels(t testing.TB, o SentinelOptions) *Sentinels {
	t.Helper()
	s := &Sentinels{t: t}
	server := func() *RedisServer {
		tlsArgs, port := o.TLS.redisArgs(t, "--tls-replication", "yes")
		r := StartRedis(t, RedisOptions{Durable: true, Args: slices.Concat(tlsArgs, o.Args)})
		r.securePort = port
		return r
	}
	s.Primary = server()
	host, port, err := net.SplitHostPort(s.Primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for range o.Replicas {
		replica := server()
		replica.Do("REPLICAOF", host, port)
		s.Replicas = append(s.Replicas, replica)
	}
	for _, replica := range s.Replicas {
		Eventually(t, startTimeout, func() (bool, string) {
			state := fmt.Sprint(replica.Do("INFO", "replication"))
			return strings.Contains(state, "master_link_status:up"), state
		})
	}
	var hosts []string
	for range 3 {
		hosts = append(hosts, s.startSentinel(o, host, port))
	}
	s.Hosts = strings.Join(hosts, ",")
	s.awaitAgreement(o.Replicas)
	return s
}

// startSentinel starts one sentinel and returns its address for clients.
func (s *Sentinels) startSentinel(o SentinelOptions, host, port string) string {
	s.t.Helper()
	program, err := redisProgram()
	if err != nil {
		s.t.Fatalf("kit: sentinel: %v", err)
	}
	dir := s.t.TempDir()
	tlsArgs, securePort := o.TLS.redisArgs(s.t, "--tls-replication", "yes")
	conf := []string{
		"bind 127.0.0.1", "protected-mode no", "dir " + dir,
		"sentinel monitor " + primaryName + " " + host + " " + port + " 2",
		"sentinel down-after-milliseconds " + primaryName + " 1000",
		"sentinel failover-timeout " + primaryName + " 10000",
	}
	for i := 0; i < len(tlsArgs); i += 2 {
		conf = append(conf, strings.TrimPrefix(tlsArgs[i], "--")+" "+tlsArgs[i+1])
	}
	if o.User != "" {
		conf = append(conf, o.User)
	}
	var p *process
	plainPort := 0
	err = onFreePort(0, func(free int) error {
		plainPort = free
		file := filepath.Join(dir, "sentinel.conf") // the sentinel writes its state to this file
		text := strings.Join(append(conf, "port "+strconv.Itoa(free)), "\n") + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		p = &process{
			name: "sentinel", program: program, dir: dir, args: []string{file, "--sentinel"},
			ready: func() error { return pingRedis("redis://" + loopback(free)) },
		}
		return p.start()
	})
	if err != nil {
		s.t.Fatalf("kit: sentinel: %v", err)
	}
	s.t.Cleanup(p.kill)
	s.sentinels = append(s.sentinels, loopback(plainPort))
	if securePort != 0 {
		return loopback(securePort)
	}
	return loopback(plainPort)
}

// awaitAgreement waits until every sentinel sees the two others and all replicas.
func (s *Sentinels) awaitAgreement(replicas int) {
	s.t.Helper()
	for _, addr := range s.sentinels {
		client := redis.NewSentinelClient(&redis.Options{Addr: addr})
		defer client.Close()
		Eventually(s.t, startTimeout, func() (bool, string) {
			m, err := client.Master(Context(s.t), primaryName).Result()
			return err == nil && m["num-other-sentinels"] == "2" && m["num-slaves"] == strconv.Itoa(replicas) &&
				m["flags"] == "master", fmt.Sprint("a sentinel reports ", m, " ", err)
		})
	}
}
