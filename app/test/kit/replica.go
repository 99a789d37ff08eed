package kit

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Follow makes the server a replica of master. It returns when the replica has the same offset as master.
func (s *RedisServer) Follow(master *RedisServer) {
	s.t.Helper()
	primary := master.client()
	defer primary.Close()
	s.follow(master, primary.Options().Addr)
}

// FollowVia is Follow through a proxy to master. The proxy can make the replica fall behind.
func (s *RedisServer) FollowVia(master *RedisServer, link *Proxy) {
	s.t.Helper()
	s.follow(master, link.Addr)
}

func (s *RedisServer) follow(master *RedisServer, addr string) {
	s.t.Helper()
	replica, primary := s.client(), master.client()
	defer replica.Close()
	defer primary.Close()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := replica.ReplicaOf(context.Background(), host, port).Err(); err != nil {
		s.t.Fatalf("kit: REPLICAOF %s %s: %v", host, port, err)
	}
	Eventually(s.t, startTimeout, func() (bool, string) {
		replicaInfo, err := replication(replica)
		if err != nil {
			return false, err.Error()
		}
		primaryInfo, err := replication(primary)
		if err != nil {
			return false, err.Error()
		}
		same := replicaInfo["master_link_status"] == "up" && replicaInfo["slave_repl_offset"] == primaryInfo["master_repl_offset"]
		return same, fmt.Sprintf("link %s, offset %s of %s", replicaInfo["master_link_status"], replicaInfo["slave_repl_offset"],
			primaryInfo["master_repl_offset"])
	})
}

// Promote makes the replica a primary with the data it has.
func (s *RedisServer) Promote() {
	s.t.Helper()
	replica := s.client()
	defer replica.Close()
	if err := replica.ReplicaOf(context.Background(), "NO", "ONE").Err(); err != nil {
		s.t.Fatalf("kit: REPLICAOF NO ONE: %v", err)
	}
}

func (s *RedisServer) client() *redis.Client {
	s.t.Helper()
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return redis.NewClient(o)
}

var infoField = regexp.MustCompile(`(?m)^([a-z_]+):(.*)$`)

// replication returns the fields of INFO replication.
func replication(c *redis.Client) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	text, err := c.Info(ctx, "replication").Result()
	fields := make(map[string]string)
	for _, m := range infoField.FindAllStringSubmatch(text, -1) {
		fields[m[1]] = strings.TrimSpace(m[2])
	}
	return fields, err
}
