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
	// How long a read waits for the other primaries of a cluster after the first reply: tickReplyWait for values that
	// are shown live, readReplyWait for reads whose missing values cost more than waiting.
	tickReplyWait, readReplyWait = 100 * time.Millisecond, time.Second
	// serverCallTimeout bounds the call to a silent primary, after the callers have stopped waiting.
	serverCallTimeout = 2 * time.Second
)

var errSilent = fmt.Errorf("%w: its primary is unreachable", shop.ErrTransient)

// servers maps partitions to the primaries of a cluster and records silent primaries.
type servers struct {
	cluster *redis.ClusterClient // nil: one server holds all partitions
	keys    []string             // one key of each partition

	mu          sync.Mutex
	abandoned   map[string]map[*serverCall]bool // by server, the running calls that no caller waits for
	unreachable map[int]bool                    // partitions without a reply to the last read
}

// serverCall is a call to a server. ended is true after its reply or timeout.
type serverCall struct {
	began time.Time
	ended bool
}

func newServers(client redis.UniversalClient, parts []partition) *servers {
	s := &servers{abandoned: make(map[string]map[*serverCall]bool), unreachable: make(map[int]bool)}
	s.cluster, _ = client.(*redis.ClusterClient)
	for p := range parts {
		s.keys = append(s.keys, parts[p].keys.meta)
	}
	return s
}

// groups returns the partitions of each primary, by address, from the cached slots. If a slot has moved, Redis
// redirects the call.
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

// beginCall makes a call record. It returns nil if an earlier call has waited for longer than replyWait: then the
// server is not called. A silent server thus costs one wait per serverCallTimeout, and few connections.
func (s *servers) beginCall(server string, replyWait time.Duration) *serverCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for call := range s.abandoned[server] {
		if now.Sub(call.began) > replyWait {
			return nil
		}
	}
	return &serverCall{began: now}
}

func (s *servers) abandon(server string, call *serverCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call.ended {
		return
	}
	if s.abandoned[server] == nil {
		s.abandoned[server] = make(map[*serverCall]bool)
	}
	s.abandoned[server][call] = true
}

func (s *servers) endCall(server string, call *serverCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.ended = true
	delete(s.abandoned[server], call)
}

// readPartitions reads from the partitions in one call per server, in parallel. A server that fails or does not reply
// fails only its own partitions (PartitionsUnreachable), unless no server replies; read may also return a
// PartitionsUnreachable. The function read must return new values, because a late value arrives after readPartitions
// has returned.
func readPartitions[T any](
	ctx context.Context, c *connection, partitions []int, replyWait time.Duration,
	read func(ctx context.Context, subset []int) (T, error),
) (values []T, err error) {
	s := c.servers
	if s.cluster == nil {
		value, err := read(ctx, partitions)
		if err != nil && shop.UnreachableIn(err) == nil {
			return nil, err
		}
		return []T{value}, err
	}
	groups, err := s.groups(ctx, partitions)
	if err != nil {
		return nil, err
	}
	type reply struct {
		server string
		call   *serverCall
		value  T
		err    error
	}
	replies := make(chan reply, len(groups))
	waiting, failed := make(map[string]*serverCall, len(groups)), make(map[int]error)
	fail := func(server string, cause error) {
		for _, p := range groups[server] {
			failed[p] = cause
		}
	}
	for server, subset := range groups {
		call := s.beginCall(server, replyWait)
		if call == nil {
			fail(server, errSilent)
			continue
		}
		waiting[server] = call
		go func() {
			callCtx, cancel := context.WithTimeout(ctx, serverCallTimeout)
			defer cancel()
			value, err := read(callCtx, subset)
			replies <- reply{server, call, value, err}
			s.endCall(server, call)
		}()
	}
	var timeout <-chan time.Time // nil until the first reply
	for len(waiting) > 0 {
		select {
		case a := <-replies:
			delete(waiting, a.server)
			unreachable := shop.UnreachableIn(a.err)
			switch {
			case a.err != nil && unreachable == nil:
				fail(a.server, a.err)
				continue
			case unreachable != nil:
				maps.Copy(failed, unreachable.Partitions)
			}
			values = append(values, a.value)
			if timeout == nil {
				timeout = time.After(replyWait)
			}
		case <-timeout:
			for server, call := range waiting {
				s.abandon(server, call)
				fail(server, errSilent)
			}
			clear(waiting)
		}
	}
	if replyWait == readReplyWait { // other reads may fail for a moment
		s.logChanges(ctx, partitions, failed)
	}
	return values, partialError(failed, len(values) == 0)
}

// partialError returns the error of a read with failed partitions: the error of the first partition if all failed, else
// a PartitionsUnreachable.
func partialError(failed map[int]error, all bool) error {
	switch {
	case len(failed) == 0:
		return nil
	case all:
		return failed[slices.Min(slices.Collect(maps.Keys(failed)))]
	}
	return &shop.PartitionsUnreachable{Partitions: failed}
}

// logChanges logs once which partitions have stopped replying, and which reply again.
func (s *servers) logChanges(ctx context.Context, partitions []int, failed map[int]error) {
	if ctx.Err() != nil { // the caller has cancelled the read
		return
	}
	s.mu.Lock()
	var silent, restored []int
	for _, p := range partitions {
		switch unreachable := failed[p] != nil; {
		case unreachable && !s.unreachable[p]:
			s.unreachable[p] = true
			silent = append(silent, p)
		case !unreachable && s.unreachable[p]:
			delete(s.unreachable, p)
			restored = append(restored, p)
		}
	}
	s.mu.Unlock()
	if len(silent) > 0 {
		slog.WarnContext(ctx, "partitions are unreachable; the others continue", "partitions", silent, "err", failed[silent[0]])
	}
	if len(restored) > 0 {
		slog.InfoContext(ctx, "partitions are reachable again", "partitions", restored)
	}
}
