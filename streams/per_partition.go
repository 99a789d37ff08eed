package streams

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

const (
	// How long a read waits for the other primaries of a cluster after the first reply: tickPatience for values that
	// are shown live, readPatience for reads whose gaps cost more than waiting.
	tickPatience, readPatience = 100 * time.Millisecond, time.Second
	// callLimit bounds the call to a silent primary, after the callers have stopped waiting.
	callLimit = 2 * time.Second
)

var errSilent = fmt.Errorf("%w: its primary is unreachable", shop.ErrTransient)

// servers maps partitions to the primaries of a cluster and records which of those are silent.
type servers struct {
	cluster *redis.ClusterClient // nil: one server holds all partitions
	keys    []string             // one key of each partition

	mu   sync.Mutex
	late map[string]map[*asked]bool // by server, the running calls that no caller waits for
	away map[int]bool               // partitions without a reply to the last read
}

// asked is a call; over is true once it has ended.
type asked struct {
	began time.Time
	over  bool
}

func newServers(client redis.UniversalClient, parts []partition) *servers {
	s := &servers{late: make(map[string]map[*asked]bool), away: make(map[int]bool)}
	s.cluster, _ = client.(*redis.ClusterClient)
	for p := range parts {
		s.keys = append(s.keys, parts[p].keys.meta)
	}
	return s
}

// groups returns the partitions of each primary, by address, as far as this node has them. Redis redirects wrong calls.
func (s *servers) groups(ctx context.Context, partitions []int) (map[string][]int, error) {
	groups := make(map[string][]int)
	for _, p := range partitions {
		primary, err := s.cluster.MasterForKey(ctx, s.keys[p])
		if err != nil {
			return nil, fmt.Errorf("find the primary of partition %d: %w", p, transient(err))
		}
		address := primary.Options().Addr
		groups[address] = append(groups[address], p)
	}
	return groups, nil
}

// begin records a call. It returns nil if the server has not replied to an earlier call for longer than patience: then
// the server is not called. A silent server thus costs one wait per callLimit, and few connections.
func (s *servers) begin(server string, patience time.Duration) *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for call := range s.late[server] {
		if now.Sub(call.began) > patience {
			return nil
		}
	}
	return &asked{began: now}
}

func (s *servers) giveUp(server string, call *asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call.over {
		return
	}
	if s.late[server] == nil {
		s.late[server] = make(map[*asked]bool)
	}
	s.late[server][call] = true
}

func (s *servers) end(server string, call *asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.over = true
	delete(s.late[server], call)
}

// perPartition reads from the partitions in one call per server, in parallel. A server that fails or does not reply
// fails only its own partitions (PartitionsAway), unless no server replies; read may also return a PartitionsAway. The
// values of read must not be shared: a late value arrives after its caller has returned.
func perPartition[T any](
	ctx context.Context, l *Inventory, partitions []int, patience time.Duration,
	read func(ctx context.Context, some []int) (T, error),
) (values []T, err error) {
	s := l.servers
	if s.cluster == nil {
		value, err := read(ctx, partitions)
		if err != nil && shop.AwayOf(err) == nil {
			return nil, err
		}
		return []T{value}, err
	}
	groups, err := s.groups(ctx, partitions)
	if err != nil {
		return nil, err
	}
	type answer struct {
		server string
		call   *asked
		value  T
		err    error
	}
	answers := make(chan answer, len(groups))
	waiting, failed := make(map[string]*asked, len(groups)), make(map[int]error)
	fail := func(server string, why error) {
		for _, p := range groups[server] {
			failed[p] = why
		}
	}
	for server, some := range groups {
		call := s.begin(server, patience)
		if call == nil {
			fail(server, errSilent)
			continue
		}
		waiting[server] = call
		go func() {
			asking, cancel := context.WithTimeout(ctx, callLimit)
			defer cancel()
			value, err := read(asking, some)
			answers <- answer{server, call, value, err}
			s.end(server, call)
		}()
	}
	var enough <-chan time.Time // nil until the first reply
	for len(waiting) > 0 {
		select {
		case a := <-answers:
			delete(waiting, a.server)
			away := shop.AwayOf(a.err)
			switch {
			case a.err != nil && away == nil:
				fail(a.server, a.err)
				continue
			case away != nil:
				maps.Copy(failed, away.Partitions)
			}
			values = append(values, a.value)
			if enough == nil {
				enough = time.After(patience)
			}
		case <-enough:
			for server, call := range waiting {
				s.giveUp(server, call)
				fail(server, errSilent)
			}
			clear(waiting)
		}
	}
	if patience == readPatience { // other reads may fail for a moment
		s.note(ctx, partitions, failed)
	}
	return values, awayUnlessAll(failed, len(values) == 0)
}

// awayUnlessAll returns the error of a read with failed partitions: that of the first one if all failed, else a
// PartitionsAway.
func awayUnlessAll(failed map[int]error, all bool) error {
	switch {
	case len(failed) == 0:
		return nil
	case all:
		return failed[slices.Min(slices.Collect(maps.Keys(failed)))]
	}
	return &shop.PartitionsAway{Partitions: failed}
}

// note logs once which partitions have stopped replying, and which reply again.
func (s *servers) note(ctx context.Context, asked []int, failed map[int]error) {
	if ctx.Err() != nil { // the caller has gone
		return
	}
	s.mu.Lock()
	var gone, back []int
	for _, p := range asked {
		switch away := failed[p] != nil; {
		case away && !s.away[p]:
			s.away[p] = true
			gone = append(gone, p)
		case !away && s.away[p]:
			delete(s.away, p)
			back = append(back, p)
		}
	}
	s.mu.Unlock()
	if len(gone) > 0 {
		slog.WarnContext(ctx, "partitions are unreachable; the others continue", "partitions", gone, "err", failed[gone[0]])
	}
	if len(back) > 0 {
		slog.InfoContext(ctx, "partitions are reachable again", "partitions", back)
	}
}
